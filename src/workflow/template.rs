//! Templates and expressions: a template builds the prompt of a step from inputs and earlier results, an expression
//! decides a condition over them. Pure.
//!
//! Both are Jinja (minijinja): no files, no macros from outside, a limit on computation, and unknown names are errors.
//! The names that a template uses are known before it is rendered ([`Uses`]), so unknown names are found when a
//! definition is checked.

mod language;
mod lines;
mod quoting;
mod uses;
mod words;

use minijinja::value::{Serde, ValueKind};
use minijinja::{Environment, ErrorKind};
use serde_json::Value as Json;

use super::problem::{Position, Problem};
use language::ENVIRONMENT;
pub use lines::Lines;
pub use quoting::Quoting;
pub use uses::Uses;

/// The longest text that a template may produce; no room accepts one nearly as long.
const LENGTH: usize = 16 * 1024 * 1024;

/// A text with placeholders, and its position in the file.
#[derive(Debug, Clone, PartialEq)]
pub struct Template {
    pub source: String,
    pub place: Position,
    pub uses: Uses,
    marks: Marks,
}

/// A condition, or a list to go through.
#[derive(Debug, Clone, PartialEq)]
pub struct Expression {
    pub source: String,
    pub place: Position,
    pub uses: Uses,
    marks: Marks,
}

/// The positions of a text's words in its file, by byte offset in the text, for later error messages.
type Marks = Vec<(usize, Position)>;

impl Template {
    pub fn parse(source: &str, lines: Lines<'_>) -> Result<Self, Vec<Problem>> {
        let template = ENVIRONMENT
            .template_from_str(source)
            .map_err(|e| vec![lines.problem(source, 0, "the template is wrong", &e)])?;
        let names = template.undeclared_variables(true);
        let (uses, marks) = Uses::of(names, source, 0, words::of_template(source), lines)?;
        Ok(Self { source: source.to_owned(), place: lines.place, uses, marks })
    }

    /// Renders the text, or says why it cannot.
    pub fn render(&self, context: &Json) -> Result<String, String> {
        self.render_in(&ENVIRONMENT, context)
    }

    /// Renders a text for an agent or a person: what came from agents is fenced.
    pub fn render_quoted(&self, context: &Json, quoting: Quoting) -> Result<String, String> {
        self.render_in(&quoting.language(), context)
    }

    fn render_in(&self, language: &Environment<'_>, context: &Json) -> Result<String, String> {
        let mut text = Bounded(vec![]);
        let rendered = language.template_from_str(&self.source).and_then(|template| {
            template.render_captured_to(minijinja::Value::from(Serde(context)), &mut text).map(drop)
        });
        match rendered {
            Ok(()) => Ok(String::from_utf8_lossy(&text.0).into_owned()),
            Err(e) => {
                Err(format!("its template cannot be rendered: {}", placed(&self.source, &self.marks, &e)))
            }
        }
    }

    /// Whether it consists only of text and variables: then rendering it computes nothing, even if it is hostile.
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
    pub fn parse(source: &str, lines: Lines<'_>) -> Result<Self, Vec<Problem>> {
        let trimmed = source.trim();
        // People write `{{ … }}` here out of habit.
        let inside = trimmed.strip_prefix("{{").and_then(|rest| rest.strip_suffix("}}"));
        let bare = inside.unwrap_or(trimmed).trim();
        let from = source.find(bare).unwrap_or(0);
        let expression = ENVIRONMENT
            .compile_expression_owned(bare.to_owned())
            .map_err(|e| vec![lines.problem(source, from, "the expression is wrong", &e)])?;
        let names = expression.undeclared_variables(true);
        let (uses, marks) = Uses::of(names, source, from, words::of_expression(bare), lines)?;
        Ok(Self { source: bare.to_owned(), place: lines.place, uses, marks })
    }

    /// A literal list.
    pub fn literal(list: &Json, place: Position) -> Self {
        Self { source: list.to_string(), place, uses: Uses::default(), marks: vec![] }
    }

    fn value(&self, context: &Json) -> Result<minijinja::Value, String> {
        let told = |e: minijinja::Error| placed(&self.source, &self.marks, &e);
        let compiled = ENVIRONMENT.compile_expression(&self.source).map_err(told)?;
        let value = compiled.eval(minijinja::Value::from(Serde(context))).map_err(told)?;
        match value.is_undefined() {
            true => Err(format!("{} is not defined here", self.shown())),
            false => Ok(value),
        }
    }

    /// The source and its position.
    fn shown(&self) -> String {
        let at = self.marks.first().map_or(self.place, |(_, place)| *place);
        format!("`{}` (line {}, column {})", self.source, at.line, at.column)
    }

    /// Evaluates to a boolean. Anything else is an error, because `when: steps.x.result` is probably a mistake.
    pub fn truth(&self, context: &Json) -> Result<bool, String> {
        let value = self.value(context)?;
        match value.kind() {
            ValueKind::Bool => Ok(value.is_true()),
            kind => Err(format!("{} is a {kind}, not true or false", self.shown())),
        }
    }

    /// The items of a list.
    pub fn items(&self, context: &Json) -> Result<Vec<Json>, String> {
        let value = self.value(context)?;
        let kind = value.kind();
        match serde_json::to_value(&value) {
            Ok(Json::Array(items)) => Ok(items),
            _ => Err(format!("{} is a {kind}, not a list", self.shown())),
        }
    }
}

/// The output of a template, up to the maximum length.
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

/// A rendering error, with its expression and position.
fn placed(source: &str, marks: &Marks, e: &minijinja::Error) -> String {
    let Some(range) = e.range().filter(|range| source.get(range.clone()).is_some()) else { return worded(e) };
    let braces = |at: usize| source[at..].starts_with("{{") || source[at..].starts_with("{%");
    let opening = marks.iter().rposition(|(at, _)| *at <= range.start && braces(*at));
    let from = opening.map_or(0, |index| marks[index].0);
    let rest = &source[range.end..];
    let end = ["}}", "%}"].into_iter().filter_map(|closing| rest.find(closing)).min().unwrap_or(rest.len());
    let text = source.get(from..range.end + end).unwrap_or_default();
    let text = text.trim_start_matches(['{', '%', '-', '+']).trim_end_matches(['-', '+']).trim();
    // The first word, if there is one, else the braces.
    let first = opening.map_or(0, |index| index + 1);
    let Some((_, at)) = marks.get(first).or(marks.last()) else { return worded(e) };
    let text = crate::message::visible::clip(text, 80);
    format!("`{text}` (line {}, column {}): {}", at.line, at.column, worded(e))
}

/// An error of the template language as a sentence.
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

    fn lines(file: &str, line: usize, column: usize) -> Lines<'_> {
        let from: usize = file.split_inclusive('\n').take(line - 1).map(str::len).sum();
        Lines { rest: &file[from + column - 1..], place: Position::new(line, column), block: false }
    }

    #[test]
    fn what_a_template_speaks_of_is_known_before_it_is_rendered() {
        let source = "{{ inputs.topic }} {% for r in steps.review.results %}{{ r }}{% endfor %}{{ item }}";
        let template = Template::parse(source, lines(source, 1, 1)).unwrap();
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
        let problem = Template::parse("hello\nand {{ then\n", Lines { block: true, ..lines(file, 4, 7) })
            .unwrap_err()
            .remove(0);
        assert_eq!(problem.place, Position::new(5, 14), "{problem}");
        let file = "when: \"1 +\"\n";
        let problem = Expression::parse("1 +", lines(file, 1, 7)).unwrap_err().remove(0);
        assert_eq!(problem.place.line, 1, "{problem}");
    }

    #[test]
    fn a_condition_is_true_or_false_and_nothing_else() {
        let of = |source: &str| Expression::parse(source, lines(source, 1, 1)).unwrap();
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
        let template = Template::parse(source, lines(source, 1, 1)).unwrap();
        assert!(template.render(&json!({})).unwrap_err().contains("too long"));
        let source = "{% for a in range(9999) %}{{ inputs.long }}{% endfor %}";
        let template = Template::parse(source, lines(source, 1, 1)).unwrap();
        let why = template.render(&json!({"inputs": {"long": "x".repeat(100_000)}})).unwrap_err();
        assert!(why.contains("longer than 16777216 bytes"), "{why}");
    }

    #[test]
    fn only_what_costs_nothing_is_simple() {
        let simple = |source: &str| Template::parse(source, lines(source, 1, 1)).unwrap().is_simple();
        assert!(simple("coder") && simple("{{ inputs.coder }}") && simple("{{ inputs.a }}-{{inputs.b}}"));
        for other in ["{{ 'x' * 99 }}", "{{ inputs.a ~ inputs.a }}", "{% if true %}a{% endif %}", "{{ [1] }}"]
        {
            assert!(!simple(other), "{other}");
        }
    }
}
