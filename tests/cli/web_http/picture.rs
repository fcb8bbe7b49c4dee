//! `status --html`: a picture without a server, for an artefact that is opened anywhere.

use super::looking::Scene;
use super::tags::tags;

/// What makes a browser ask for something as soon as the file is opened.
const LOADS: [&str; 12] = [
    "script", "link", "img", "iframe", "object", "embed", "source", "video", "audio", "base", "image", "use",
];

#[test]
fn a_picture_is_one_file_that_loads_nothing() {
    let scene = Scene::new();
    let file = scene.room.around().join("picture.html");
    scene.room.run(["status", "--html"]).arg(&file).succeeds();
    let text = std::fs::read_to_string(&file).unwrap();
    for part in
        ["<h1>Now</h1>", "id=\"card-builder\"", "<h1>Flow</h1>", "class=\"edges\"", "<h1>Numbers</h1>"]
    {
        assert!(text.contains(part), "{part} is not in the picture");
    }
    let all = tags(&text);
    assert!(all.iter().any(|(name, _)| name == "svg") && all.iter().any(|(name, _)| name == "style"));
    for (name, attributes) in &all {
        assert!(!LOADS.contains(&name.as_str()), "<{name}>");
        for (key, value) in attributes {
            let is_link = name == "a" && key == "href" && (value.starts_with(['/', '?', '#']));
            let leads =
                ["src", "href", "xlink:href", "srcset", "action", "data", "poster"].contains(&key.as_str());
            assert!(!leads || is_link, "<{name} {key}={value:.80}>");
            assert!(!key.starts_with("on"), "<{name} {key}>");
        }
    }
    for word in ["url(", "@import", "http-equiv=\"refresh"] {
        assert!(!text.contains(word), "{word}");
    }
    assert!(text.contains("default-src 'none'"), "and the browser is told so");
}
