//! Templates and expressions: how the prompt of a step is made of inputs and earlier results, and how a condition over
//! them is decided. Pure.
//!
//! Both are Jinja, as minijinja has it: no files, no macros of others, a bound on how much one may compute, and a name
//! that means nothing is an error. What a template speaks of is known before it is ever rendered ([`Uses`]), so unknown
//! names are found when a definition is checked.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use minijinja::value::{Serde, ValueKind};
use minijinja::{Environment, ErrorKind, UndefinedBehavior};
use serde_json::Value as Json;

use super::problem::{Place, Problem};

/// How much one template may compute; a prompt of a thousand items takes a hundredth of it.
const FUEL: u64 = 2_000_000;

/// The longest text that one may make; no room takes one that is nearly as long.
const LENGTH: usize = 16 * 1024 * 1024;

static ENVIRONMENT: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::SemiStrict);
    environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
    environment.set_fuel(Some(FUEL));
    environment.set_recursion_limit(50);
    environment
});

/// The variables of a template.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Uses {
    /// Inputs by name.
    pub inputs: BTreeSet<String>,
    /// Steps by name.
    pub steps: BTreeSet<String>,
    /// It looks steps up by names that are only known later.
    pub any_step: bool,
    /// Everything else: `item`, `round`, `failure` …
    pub others: BTreeSet<String>,
}

/// A text with places to fill in, and where it stands in its file.
#[derive(Debug, Clone, PartialEq)]
pub struct Template {
    pub source: String,
    pub place: Place,
    pub uses: Uses,
}

/// A condition, or a list to go through.
#[derive(Debug, Clone, PartialEq)]
pub struct Expression {
    pub source: String,
    pub place: Place,
    pub uses: Uses,
}

/// How the lines of a text lie in its file.
#[derive(Debug, Clone, Copy)]
pub struct Lines<'a> {
    pub file: &'a str,
    pub place: Place,
    /// It is a text of several lines, and its place is that of the first.
    pub block: bool,
}

impl Template {
    pub fn parse(source: &str, lines: Lines<'_>) -> Result<Self, Problem> {
        let template = ENVIRONMENT
            .template_from_str(source)
            .map_err(|e| lines.problem(source, "the template is wrong", &e))?;
        let uses = Uses::of(template.undeclared_variables(true));
        Ok(Self { source: source.to_owned(), place: lines.place, uses })
    }

    /// The text with everything filled in, or why it cannot be.
    pub fn render(&self, context: &Json) -> Result<String, String> {
        let mut text = Bounded(vec![]);
        let rendered = ENVIRONMENT.template_from_str(&self.source).and_then(|template| {
            template.render_captured_to(minijinja::Value::from(Serde(context)), &mut text).map(drop)
        });
        match rendered {
            Ok(()) => Ok(String::from_utf8_lossy(&text.0).into_owned()),
            Err(e) => Err(format!("its template cannot be filled in: {}", worded(&e))),
        }
    }

    /// Whether it is text and variables and nothing else: then filling it in computes nothing, whoever wrote it.
    pub fn is_simple(&self) -> bool {
        let name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | ' ');
        let mut parts = self.source.split("{{");
        let outside = |text: &str| !text.contains("{%");
        parts.next().is_some_and(outside)
            && parts.all(|part| {
                part.split_once("}}")
                    .is_some_and(|(inside, after)| inside.chars().all(name) && outside(after))
            })
    }
}

impl Expression {
    pub fn parse(source: &str, lines: Lines<'_>) -> Result<Self, Problem> {
        let trimmed = source.trim();
        // People write `{{ … }}` here out of habit.
        let bare = trimmed.strip_prefix("{{").and_then(|rest| rest.strip_suffix("}}")).unwrap_or(trimmed);
        let expression = ENVIRONMENT
            .compile_expression_owned(bare.trim().to_owned())
            .map_err(|e| lines.problem(source, "the expression is wrong", &e))?;
        let uses = Uses::of(expression.undeclared_variables(true));
        Ok(Self { source: bare.trim().to_owned(), place: lines.place, uses })
    }

    fn value(&self, context: &Json) -> Result<minijinja::Value, String> {
        let compiled = ENVIRONMENT.compile_expression(&self.source).map_err(|e| worded(&e))?;
        let value = compiled.eval(minijinja::Value::from(Serde(context))).map_err(|e| worded(&e))?;
        match value.is_undefined() {
            true => Err(format!("`{}` means nothing here", self.source)),
            false => Ok(value),
        }
    }

    /// A truth value; anything else is an error, because `when: steps.x.result` is most likely a slip.
    pub fn truth(&self, context: &Json) -> Result<bool, String> {
        let value = self.value(context)?;
        match value.kind() {
            ValueKind::Bool => Ok(value.is_true()),
            kind => Err(format!("`{}` is a {kind}, not true or false", self.source)),
        }
    }

    /// The items of a list.
    pub fn items(&self, context: &Json) -> Result<Vec<Json>, String> {
        let value = self.value(context)?;
        let kind = value.kind();
        match serde_json::to_value(&value) {
            Ok(Json::Array(items)) => Ok(items),
            _ => Err(format!("`{}` is a {kind}, not a list", self.source)),
        }
    }
}

/// What is made of a template, as long as it is not too long.
struct Bounded(Vec<u8>);

impl std::io::Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.0.len() + bytes.len() > LENGTH {
            return Err(std::io::ErrorKind::FileTooLarge.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Uses {
    fn of(names: impl IntoIterator<Item = String>) -> Self {
        let mut uses = Self::default();
        for name in names {
            let mut parts = name.split('.');
            match (parts.next(), parts.next()) {
                (Some("inputs"), Some(input)) => drop(uses.inputs.insert(input.to_owned())),
                (Some("steps"), Some(step)) => drop(uses.steps.insert(step.to_owned())),
                (Some("steps"), None) => uses.any_step = true,
                // Functions of the language are no variables of ours.
                (Some("inputs" | "range" | "dict" | "namespace" | "debug" | "lipsum"), None) | (None, _) => {}
                (Some(other), _) => drop(uses.others.insert(other.to_owned())),
            }
        }
        uses
    }
}

impl Lines<'_> {
    fn problem(&self, source: &str, what: &str, e: &minijinja::Error) -> Problem {
        let offset = e.range().map_or(0, |range| range.start.min(source.trim_end().len()));
        let before = &source[..source.floor_char_boundary(offset)];
        let (index, column) =
            (before.matches('\n').count(), before.rsplit('\n').next().unwrap_or("").chars().count());
        Problem::at(self.place_of(index, column), format!("{what}: {}", worded(e)))
    }

    /// Where a character of the text stands in the file.
    fn place_of(&self, index: usize, column: usize) -> Place {
        // All lines of a block are indented alike; elsewhere only the first line has its place.
        if self.block || index == 0 {
            let line = self.file.lines().nth(self.place.line.saturating_sub(1)).unwrap_or("");
            let first = line.chars().nth(self.place.column.saturating_sub(1));
            let quoted = !self.block && first.is_some_and(|c| c == '"' || c == '\'');
            return Place::new(self.place.line + index, self.place.column + column + usize::from(quoted));
        }
        Place::new(self.place.line + index, column + 1)
    }
}

/// An error of the language in a sentence.
fn worded(e: &minijinja::Error) -> String {
    match (e.kind(), e.detail()) {
        (ErrorKind::OutOfFuel, _) => "it computes for too long".to_owned(),
        (ErrorKind::WriteFailure, _) => format!("its text is longer than {LENGTH} bytes"),
        (ErrorKind::SyntaxError, Some(detail)) => detail.to_owned(),
        (kind, Some(detail)) => format!("{kind}: {detail}"),
        (kind, None) => kind.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn lines(file: &str, line: usize, column: usize, block: bool) -> Lines<'_> {
        Lines { file, place: Place::new(line, column), block }
    }

    #[test]
    fn what_a_template_speaks_of_is_known_before_it_is_rendered() {
        let source = "{{ inputs.topic }} {% for r in steps.review.results %}{{ r }}{% endfor %}{{ item }}";
        let template = Template::parse(source, lines(source, 1, 1, false)).unwrap();
        assert_eq!(template.uses.inputs.iter().collect::<Vec<_>>(), ["topic"]);
        assert_eq!(template.uses.steps.iter().collect::<Vec<_>>(), ["review"]);
        assert_eq!(template.uses.others.iter().collect::<Vec<_>>(), ["item"]);
        let context =
            json!({"inputs": {"topic": "<b>"}, "steps": {"review": {"results": ["x", "y"]}}, "item": 1});
        assert_eq!(template.render(&context).unwrap(), "<b> xy1");
        let why = template.render(&json!({"inputs": {}, "steps": {}, "item": 1})).unwrap_err();
        assert!(why.contains("undefined"), "{why}");
    }

    #[test]
    fn an_error_points_into_the_file() {
        let file = "steps:\n  a:\n    prompt: |\n      hello\n      and {{ then\n";
        let problem = Template::parse("hello\nand {{ then\n", lines(file, 4, 7, true)).unwrap_err();
        assert_eq!(problem.place, Place::new(5, 14), "{problem}");
        let file = "when: \"1 +\"\n";
        let problem = Expression::parse("1 +", lines(file, 1, 7, false)).unwrap_err();
        assert_eq!(problem.place.line, 1, "{problem}");
    }

    #[test]
    fn a_condition_is_true_or_false_and_nothing_else() {
        let of = |source: &str| Expression::parse(source, lines(source, 1, 1, false)).unwrap();
        let context = json!({"inputs": {"n": 3, "s": "x", "l": [1, 2]}});
        assert_eq!(of("inputs.n > 2").truth(&context), Ok(true));
        assert_eq!(of("{{ 'y' in inputs.s }}").truth(&context), Ok(false));
        for bad in ["inputs.s", "inputs.n", "inputs.l", "none"] {
            assert!(of(bad).truth(&context).unwrap_err().contains("not true or false"), "{bad}");
        }
        assert!(of("inputs.nothing").truth(&context).is_err());
        assert_eq!(of("inputs.l").items(&context), Ok(vec![json!(1), json!(2)]));
        assert!(of("inputs.s").items(&context).unwrap_err().contains("not a list"));
    }

    #[test]
    fn nothing_computes_for_ever() {
        let source = "{% for a in range(9999) %}{% for b in range(9999) %}x{% endfor %}{% endfor %}";
        let template = Template::parse(source, lines(source, 1, 1, false)).unwrap();
        assert!(template.render(&json!({})).unwrap_err().contains("too long"));
        let source = "{% for a in range(9999) %}{{ inputs.long }}{% endfor %}";
        let template = Template::parse(source, lines(source, 1, 1, false)).unwrap();
        let why = template.render(&json!({"inputs": {"long": "x".repeat(100_000)}})).unwrap_err();
        assert!(why.contains("longer than 16777216 bytes"), "{why}");
    }

    #[test]
    fn only_what_costs_nothing_is_simple() {
        let simple = |source: &str| Template::parse(source, lines(source, 1, 1, false)).unwrap().is_simple();
        assert!(simple("coder") && simple("{{ inputs.coder }}") && simple("{{ inputs.a }}-{{inputs.b}}"));
        for other in ["{{ 'x' * 99 }}", "{{ inputs.a ~ inputs.a }}", "{% if true %}a{% endif %}", "{{ [1] }}"]
        {
            assert!(!simple(other), "{other}");
        }
    }
}
