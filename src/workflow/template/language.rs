//! The template language: minijinja with limits, and stricter about undefined values. Pure.

use std::sync::LazyLock;

use minijinja::value::{Rest, Value};
use minijinja::{Environment, Error, ErrorKind, State, UndefinedBehavior};

use super::words::Part;
use crate::workflow::problem::offer;

/// The computation limit of one template; a prompt of a thousand items takes a hundredth of it.
const FUEL: u64 = 2_000_000;

/// The names after a `|`, for hints; the environment decides which are known.
const FILTERS: [&str; 46] = [
    "abs",
    "attr",
    "batch",
    "bool",
    "capitalize",
    "chain",
    "count",
    "d",
    "default",
    "dictsort",
    "e",
    "escape",
    "first",
    "float",
    "format",
    "groupby",
    "indent",
    "int",
    "items",
    "join",
    "last",
    "length",
    "lines",
    "list",
    "lower",
    "map",
    "max",
    "min",
    "pprint",
    "reject",
    "rejectattr",
    "replace",
    "reverse",
    "round",
    "safe",
    "select",
    "selectattr",
    "slice",
    "sort",
    "split",
    "string",
    "sum",
    "title",
    "tojson",
    "trim",
    "unique",
];

/// The names after an `is`, for hints.
const TESTS: [&str; 22] = [
    "boolean",
    "defined",
    "divisibleby",
    "endingwith",
    "eq",
    "even",
    "false",
    "float",
    "ge",
    "gt",
    "in",
    "integer",
    "iterable",
    "le",
    "lt",
    "mapping",
    "none",
    "number",
    "odd",
    "sequence",
    "startingwith",
    "string",
];

/// Filters that turn an undefined value into an empty text, list or number. Here that is an error, so that a typo does
/// not leave a hole in a prompt.
const SWALLOW: [&str; 9] = ["chain", "e", "escape", "groupby", "join", "pprint", "reverse", "tojson", "zip"];

/// The unchanged language, for the filters that are made strict.
static PLAIN: LazyLock<Environment<'static>> = LazyLock::new(Environment::new);

pub(super) static ENVIRONMENT: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::SemiStrict);
    environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
    environment.set_fuel(Some(FUEL));
    environment.set_recursion_limit(50);
    for name in SWALLOW {
        environment.add_filter(name, move |_: &mut State, values: Rest<Value>| match values.first() {
            Some(value) if value.is_undefined() => Err(Error::from(ErrorKind::UndefinedError)),
            _ => PLAIN.empty_state().apply_filter(name, &values),
        });
    }
    environment
});

/// The error for an unknown filter or test. `None` if it is known.
pub(super) fn unknown(part: Part, name: &str) -> Option<String> {
    let mut state = ENVIRONMENT.empty_state();
    let (error, what, known) = match part {
        Part::Filter => (state.apply_filter(name, &[]).err(), "filter", FILTERS.as_slice()),
        Part::Test => (state.perform_test(name, &[]).err(), "test", TESTS.as_slice()),
        _ => return None,
    };
    let kind = error?.kind();
    let is_unknown = matches!(kind, ErrorKind::UnknownFilter | ErrorKind::UnknownTest);
    is_unknown.then(|| {
        let word = crate::message::visible::clip(name, 40);
        format!("there is no {what} `{word}`{}", offer(name, known.iter().copied()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_hint_is_there() {
        FILTERS.iter().for_each(|name| assert_eq!(unknown(Part::Filter, name), None, "{name}"));
        TESTS.iter().for_each(|name| assert_eq!(unknown(Part::Test, name), None, "{name}"));
        assert!(unknown(Part::Filter, "jion").is_some_and(|why| why.contains("did you mean `join`?")));
        assert!(unknown(Part::Test, "nosuchtest").is_some_and(|why| why.contains("there is no test")));
    }

    #[test]
    fn no_filter_makes_something_of_nothing() {
        let makes = |name: &str| {
            let expression =
                ENVIRONMENT.compile_expression_owned(format!("inputs.nothing | {name}")).unwrap();
            expression.eval(minijinja::context! { inputs => minijinja::context! {} }).is_ok()
        };
        let swallow: Vec<&str> = FILTERS.into_iter().filter(|name| makes(name)).collect();
        // These exist for undefined values, which are false here as in `if`.
        assert_eq!(swallow, ["bool", "d", "default"]);
    }
}
