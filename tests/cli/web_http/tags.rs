//! Hostile content, and what of it a browser would run or load in a page: every view is taken apart as a browser does.

use std::collections::BTreeMap;

/// Everything that runs, loads or closes something, for one line.
pub(crate) const LINE: &str = r#"evil"'><script>alert(1)</script><img src=x onerror=alert(1)><svg onload=alert(1)><style>*{background:url(https://evil.example)}</style><a href="javascript:alert(1)">{{7*7}}{% raw %}</textarea></title>"#;

/// The same in Markdown.
pub(crate) const BODY: &str = r#"evil
[a](javascript:alert(1)) [b](JaVaScRiPt:alert(1)) [c](data:text/html,<script>alert(1)</script>) [d](vbscript:x) [e](//evil.example)
![p](https://evil.example/p.png) ![q](data:image/svg+xml,<svg onload=alert(1)>) ![r](javascript:alert(1))
<https://ok.example/"onmouseover=alert(1)> <script>alert(1)</script> <img src=x onerror=alert(1)>
[x]: javascript:alert(1) "a"
[x] [t](https://ok.example 'a" onclick="alert(1)')

<div style="background:url(https://evil.example)" onclick=alert(1)>
<iframe src="https://evil.example"></iframe><base href="https://evil.example/"><meta http-equiv=refresh content="0;url=https://evil.example">

| a" onclick="x | b |
|:--|--:|
| <svg onload=alert(1)> | {{7*7}} |

```"><script>alert(1)</script>
</code></pre><script>alert(1)</script>
```
"#;

/// The tags of a document with their attributes, as a browser finds them.
pub(crate) fn tags(html: &str) -> Vec<(String, BTreeMap<String, String>)> {
    let (mut found, mut rest) = (vec![], html);
    while let Some(at) = rest.find('<') {
        rest = &rest[at + 1..];
        if !rest.starts_with(|c: char| c.is_ascii_alphabetic()) {
            continue;
        }
        let end = rest.find(|c: char| c.is_whitespace() || c == '>' || c == '/').unwrap_or(rest.len());
        let name = rest[..end].to_ascii_lowercase();
        rest = &rest[end..];
        let mut attributes = BTreeMap::new();
        loop {
            rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '/');
            if rest.is_empty() || rest.starts_with('>') {
                break;
            }
            let end =
                rest.find(|c: char| c.is_whitespace() || "=>/".contains(c)).unwrap_or(rest.len()).max(1);
            let key = rest[..end].to_ascii_lowercase();
            rest = rest[end..].trim_start();
            let mut value = String::new();
            if let Some(after) = rest.strip_prefix('=') {
                let after = after.trim_start();
                let quote = after.chars().next().filter(|c| "\"'".contains(*c));
                let (text, left) = match quote {
                    Some(quote) => after[1..].split_once(quote).unwrap_or((&after[1..], "")),
                    None => after
                        .split_at(after.find(|c: char| c.is_whitespace() || c == '>').unwrap_or(after.len())),
                };
                value = text.replace("&#38;", "&").replace("&amp;", "&").replace("&#58;", ":");
                rest = left;
            }
            attributes.insert(key, value);
        }
        found.push((name, attributes));
    }
    found
}

/// What a document could run or load that is not the page's own.
pub(crate) fn faults(html: &str) -> Vec<String> {
    let mut faults = vec![];
    let all = tags(html);
    let scripts = all.iter().filter(|(name, _)| name == "script").count();
    if scripts != 2 {
        faults.push(format!("{scripts} scripts"));
    }
    for (name, attributes) in &all {
        if [
            "style",
            "iframe",
            "object",
            "embed",
            "base",
            "template",
            "math",
            "foreignobject",
            "animate",
            "set",
            "video",
            "audio",
            "source",
        ]
        .contains(&name.as_str())
        {
            faults.push(format!("<{name}>"));
        }
        for (key, value) in attributes {
            let own = (value.starts_with('/') && !value.starts_with("//")) || value.starts_with(['#', '?']);
            let rel = attributes.get("rel").map_or("", String::as_str);
            let checked = ["http://", "https://", "mailto:"].iter().any(|scheme| value.starts_with(scheme))
                && rel.contains("noreferrer")
                && rel.contains("noopener")
                && name == "a"
                && key == "href";
            let is_address = [
                "src",
                "href",
                "xlink:href",
                "action",
                "formaction",
                "srcset",
                "data",
                "poster",
                "ping",
                "background",
            ];
            if is_address.contains(&key.as_str()) && !own && !checked
                || key.starts_with("on")
                || key == "style"
                || key == "http-equiv"
                || (name == "script" && key == "src" && !value.starts_with("/static/"))
            {
                faults.push(format!("<{name} {key}={value:.80}>"));
            }
        }
    }
    faults
}
