//! Markdown of a message, as HTML that can neither run nor load anything.
//!
//! Raw HTML is shown as text. Links keep only addresses of the schemes below, say where they lead, and pass nothing on. An
//! image is a link to its address: nothing outside is ever loaded. Controls and invisible characters are shown as text.

use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};

use crate::message::fence::{self, Piece};
use crate::message::visible;

const SCHEMES: [&str; 3] = ["http://", "https://", "mailto:"];

/// The HTML of a body. What stands between fences, the words of others, is a quotation.
pub(super) fn render(body: &str) -> String {
    let piece = |piece: Piece<'_>| match piece {
        Piece::Own(text) => plain(text),
        Piece::Enclosed(text) => format!("<blockquote>\n{}</blockquote>\n", plain(text)),
    };
    fence::pieces(body).into_iter().map(piece).collect()
}

fn plain(body: &str) -> String {
    let body = visible::text(body);
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    // Where a link without an address was opened, its end must not close anything.
    let mut open = vec![];
    let events = Parser::new_ext(&body, options).map(|event| match event {
        Event::Html(text) | Event::InlineHtml(text) => Event::Text(text),
        Event::Start(Tag::Link { dest_url, .. }) => {
            let link = link(&dest_url);
            open.push(link.is_some());
            link.map_or(Event::Text("".into()), Event::InlineHtml)
        }
        Event::Start(Tag::Image { dest_url, .. }) => {
            let link = link(&dest_url);
            open.push(link.is_some());
            link.map_or(Event::Text("[image: ".into()), |link| {
                Event::InlineHtml(format!("{link}[image: ").into())
            })
        }
        Event::End(TagEnd::Link) => closing(open.pop(), ""),
        Event::End(TagEnd::Image) => closing(open.pop(), "]"),
        Event::Start(Tag::HtmlBlock) => Event::Start(Tag::Paragraph),
        Event::End(TagEnd::HtmlBlock) => Event::End(TagEnd::Paragraph),
        // A class name would be a byte of a message in an attribute.
        Event::Start(Tag::CodeBlock(_)) => {
            Event::Start(Tag::CodeBlock(pulldown_cmark::CodeBlockKind::Indented))
        }
        // Its length is in an attribute of style, which the page does not allow.
        Event::Start(Tag::Table(columns)) => {
            Event::Start(Tag::Table(columns.iter().map(|_| pulldown_cmark::Alignment::None).collect()))
        }
        // A box that nobody can tick needs no label as text.
        Event::TaskListMarker(is_done) => Event::Text(if is_done { "☑ " } else { "☐ " }.into()),
        other => other,
    });
    let mut out = String::new();
    html::push_html(&mut out, events);
    out
}

fn closing<'a>(open: Option<bool>, after: &'static str) -> Event<'a> {
    match open {
        Some(true) => Event::InlineHtml(format!("{after}</a>").into()),
        _ => Event::Text(after.into()),
    }
}

/// The opening tag of a link. `None` if its scheme is not allowed.
fn link<'a>(address: &str) -> Option<CowStr<'a>> {
    let lower = address.to_ascii_lowercase();
    let is_allowed = SCHEMES.iter().any(|scheme| lower.starts_with(scheme));
    let mut escaped = String::new();
    // Writing into a String does not fail.
    let _ = pulldown_cmark_escape::escape_href(&mut escaped, address);
    is_allowed.then(|| {
        format!("<a href=\"{escaped}\" rel=\"noreferrer noopener nofollow\" target=\"_blank\" title=\"{escaped}\">").into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_others_are_a_quotation() {
        let html = render(&format!(
            "Is it good?\n\n{}\n\nSay so.",
            fence::enclosed("**Yes** </blockquote>", "0123abcd")
        ));
        assert!(html.contains("<blockquote>\n<p><strong>Yes</strong> &lt;/blockquote&gt;</p>"), "{html}");
        assert!(html.contains("<p>Say so.</p>") && !html.contains("0123abcd"), "{html}");
    }

    #[test]
    fn ordinary_markdown_is_rendered() {
        let html = render(
            "# Title\n\n- **one**\n- `two`\n\n| a | b |\n|--:|---|\n| 1 | 2 |\n\n```rust\nfn x() {}\n```\n",
        );
        for part in [
            "<h1>Title</h1>",
            "<strong>one</strong>",
            "<code>two</code>",
            "<td>1</td>",
            "<pre><code>fn x() {}",
        ] {
            assert!(html.contains(part), "{part} is not in {html}");
        }
        assert!(!html.contains("style="));
    }

    #[test]
    fn a_list_of_tasks_has_no_boxes_without_a_label() {
        let html = render("- [ ] write\n- [x] test\n");
        assert!(!html.contains("<input"), "{html}");
        assert!(html.contains("☐ write") && html.contains("☑ test"), "{html}");
    }

    #[test]
    fn nothing_runs_and_nothing_loads() {
        let hostile = [
            "<script>alert(1)</script>",
            "a <img src=x onerror=alert(1)> b",
            "<svg onload=alert(1)>",
            "[x](javascript:alert(1))",
            "[x](JaVaScRiPt:alert(1))",
            "[x](data:text/html,<script>alert(1)</script>)",
            "[x](vbscript:x)",
            "![x](https://evil.example/pixel.png)",
            "![x](javascript:alert(1))",
            "<style>*{background:url(https://evil.example)}</style>",
            "<https://ok.example/\"onmouseover=alert(1)>",
            "[a]: javascript:x\n\n[a]",
            "```\"><script>alert(1)</script>\nx\n```",
            "<a href=\"javascript:alert(1)\">x</a>",
            "<div\n\n<script>alert(1)</script>",
        ];
        for body in hostile {
            let html = render(body);
            let tags: Vec<&str> =
                html.split('<').skip(1).map(|tag| tag.split(['>', ' ', '\n']).next().unwrap_or("")).collect();
            for tag in &tags {
                let name = tag.trim_start_matches('/');
                assert!(["p", "a", "pre", "code", "em", "strong"].contains(&name), "{body} → {html}");
            }
            let attributes = html.split("<a ").skip(1).map(|rest| rest.split('>').next().unwrap_or(""));
            for attribute in attributes {
                assert!(attribute.starts_with("href=\"http"), "{body} → {html}");
                assert!(!attribute.contains("\"onmouseover"), "{body} → {html}");
            }
        }
    }

    #[test]
    fn a_link_says_where_it_leads() {
        let html = render("[docs](https://example.org/a?b=1&c=2)");
        assert!(html.contains("title=\"https://example.org/a?b=1&amp;c=2\""), "{html}");
        assert!(html.contains("rel=\"noreferrer noopener nofollow\""));
        assert_eq!(render("[x](ftp://a)").trim(), "<p>x</p>");
    }
}
