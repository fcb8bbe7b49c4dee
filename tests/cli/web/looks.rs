//! How every view looks, in both themes, on a desk and on a phone: pictures of the scene in `target/pictures/web`, nothing that
//! overflows, no error on the console, and nothing serious that axe finds.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::json;

use crate::support::until::skip;
use crate::web::driver::{Browser, MISSING};
use crate::web::site::Scene;

const THEMES: [&str; 2] = ["light", "dark"];
const SIZES: [(u32, u32); 2] = [(1280, 900), (390, 844)];

/// A taller picture shows no more.
const TALLEST: u64 = 2600;

/// The views of the scene: a name, and what follows the room in the address. Where a view is of one thing, that is looked for
/// in a list: the address of the list, and a selector of the link.
const VIEWS: [(&str, &str, &str); 18] = [
    ("now", "now", ""),
    ("mail", "mail", ""),
    ("mailbox", "mail/builder?in=archive", ""),
    ("message", "mail/reviewer?in=archive", ".item .what a"),
    ("answer", "mail/user", ".item .what a"),
    ("compose", "compose", ""),
    ("search", "search?q=parse", ""),
    ("flow", "flow?window=24h", ""),
    ("runs", "runs", ""),
    ("run", "runs?agent=builder&state=failed", "td a"),
    ("workflows", "workflows", ""),
    ("workflow", "workflows", "tbody a[href*='plan-approve']"),
    ("workflow-start", "workflows", "a[href$='/plan-approve/start']"),
    ("numbers", "numbers?window=24h", ""),
    ("failed", "failed", ""),
    ("diff", "runs?state=done", "td a"),
    ("wrong", "runs/none", ""),
    ("nowhere", "../nowhere/now", ""),
];

/// What is open above a view: its name, and the script that opens it.
const OPEN: [(&str, &str); 3] = [
    ("palette", "document.querySelector('#find').click()"),
    ("keys", "document.querySelector('#keys').showModal()"),
    ("rooms", "document.querySelector('.rooms').open = true"),
];

/// Where `cargo xtask test` puts axe.
fn axe() -> Option<String> {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("axe");
    std::fs::read_to_string(place.join("node_modules/axe-core/axe.min.js")).ok()
}

/// A browser that has entered the scene, and the address of each view.
fn visit(scene: &Scene, browser: &Browser) -> Vec<(&'static str, String)> {
    scene.site.enter(browser, &scene.site.host);
    let base = browser.run("return location.href.slice(0, -'now'.length)");
    let base = base.as_str().unwrap();
    let address = |(name, path, link): &(&'static str, &str, &str)| {
        let mut address = format!("{base}{path}");
        if !link.is_empty() {
            browser.go(&address);
            let href = browser.run(&format!("return document.querySelector({})?.href", json!(link)));
            address = href.as_str().unwrap_or_else(|| panic!("no {link} in {path}")).to_owned();
            address.push_str(if *name == "diff" { "/diff" } else { "" });
        }
        (*name, address)
    };
    VIEWS.iter().map(address).collect()
}

/// Nothing moves, so that two looks see the same.
fn dress(browser: &Browser, theme: &str, (width, height): (u32, u32)) {
    let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
    browser.devtools("Emulation.setDeviceMetricsOverride", &size);
    let features = json!([{"name": "prefers-color-scheme", "value": theme}, {"name": "prefers-reduced-motion", "value": "reduce"}]);
    browser.devtools("Emulation.setEmulatedMedia", &json!({"features": features}));
}

#[test]
fn every_view_fits_and_has_its_picture() {
    let Some(browser) = Browser::start() else {
        return skip("every_view_fits_and_has_its_picture", MISSING);
    };
    let scene = Scene::open();
    let views = visit(&scene, &browser);
    let pictures = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("pictures").join("web");
    std::fs::create_dir_all(&pictures).unwrap();
    println!("pictures: {}", pictures.display());
    assert_eq!(browser.errors(), [""; 0]);
    let mut faults = vec![];
    for theme in THEMES {
        for size in SIZES {
            dress(&browser, theme, size);
            for (name, address) in &views {
                browser.go(address);
                let what = format!("{name}-{}-{theme}", size.0);
                take(&browser, &pictures.join(format!("{what}.png")), size.0);
                let wide = browser.run("return document.documentElement.scrollWidth - innerWidth");
                if wide.as_i64() > Some(0) {
                    faults.push(format!("{what}: {wide} pixels too wide"));
                }
                let errors = browser.errors().into_iter().filter(|error| !error.contains(" 404 "));
                faults.extend(errors.map(|error| format!("{what}: {error}")));
            }
            for (name, script) in OPEN {
                browser.go(&views[0].1);
                browser.run(script);
                browser.until("document.querySelector('dialog[open] li, #keys[open], .rooms[open]')");
                take(&browser, &pictures.join(format!("{name}-{}-{theme}.png", size.0)), size.0);
            }
            let stranger = format!("http://{}/enter", scene.site.host);
            browser.go(&stranger);
            take(&browser, &pictures.join(format!("enter-{}-{theme}.png", size.0)), size.0);
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

/// How far things moved by themselves while a page was loaded and looked at again, as Chromium counts it.
const MOVED: &str = "return new Promise((done) => { let sum = 0; \
    new PerformanceObserver((list) => list.getEntries().forEach((one) => (sum += one.value)))\
    .observe({type: 'layout-shift', buffered: true}); setTimeout(() => done(sum), 700); })";

#[test]
fn nothing_moves_while_it_is_loaded() {
    let Some(browser) = Browser::start() else { return skip("nothing_moves_while_it_is_loaded", MISSING) };
    let scene = Scene::open();
    let views = visit(&scene, &browser);
    let mut faults = vec![];
    for size in SIZES {
        dress(&browser, THEMES[0], size);
        for (name, address) in &views {
            browser.go(address);
            let moved = browser.run(MOVED).as_f64().unwrap();
            if moved > 0.01 {
                faults.push(format!("{name}, {}: {moved}", size.0));
            }
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

/// A picture of the whole page. Coreutils know what its text means.
fn take(browser: &Browser, file: &PathBuf, width: u32) {
    let height = browser.run("return document.documentElement.scrollHeight").as_u64().unwrap().min(TALLEST);
    let clip = json!({"x": 0, "y": 0, "width": width, "height": height, "scale": 1});
    let params = json!({"format": "png", "captureBeyondViewport": true, "clip": clip});
    let taken = browser.devtools("Page.captureScreenshot", &params);
    let picture = std::fs::File::create(file).unwrap();
    let mut decode =
        Command::new("base64").arg("--decode").stdin(Stdio::piped()).stdout(picture).spawn().unwrap();
    decode.stdin.take().unwrap().write_all(taken["data"].as_str().unwrap().as_bytes()).unwrap();
    assert!(decode.wait().unwrap().success());
}

#[test]
fn axe_finds_nothing_serious() {
    let test = "axe_finds_nothing_serious";
    let Some(browser) = Browser::start() else { return skip(test, MISSING) };
    let Some(axe) = axe() else {
        return skip(test, "axe-core is not installed; cargo xtask test installs it where npm is");
    };
    let look = format!(
        "{axe}; return axe.run(document, {{resultTypes: ['violations']}}).then((found) => found.violations\
         .filter((one) => ['serious', 'critical'].includes(one.impact))\
         .flatMap((one) => one.nodes.map((node) => `${{one.id}}: ${{node.target}}: ${{node.html.slice(0, 160)}} ${{node.any[0]?.message ?? ''}}`)))"
    );
    let scene = Scene::open();
    let views = visit(&scene, &browser);
    let mut faults = vec![];
    let mut check = |browser: &Browser, what: String| {
        let found = browser.run(&look);
        let found = found.as_array().unwrap().iter().filter_map(|fault| fault.as_str());
        faults.extend(found.map(|fault| format!("{what}: {fault}")));
    };
    for theme in THEMES {
        for size in SIZES {
            dress(&browser, theme, size);
            for (name, address) in &views {
                browser.go(address);
                check(&browser, format!("{name}, {theme}, {}", size.0));
            }
            for (name, script) in OPEN {
                browser.go(&views[0].1);
                browser.run(script);
                browser.until("document.querySelector('dialog[open] li, #keys[open], .rooms[open]')");
                check(&browser, format!("{name}, {theme}, {}", size.0));
            }
            browser.go(&format!("http://{}/enter", scene.site.host));
            check(&browser, format!("enter, {theme}, {}", size.0));
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}
