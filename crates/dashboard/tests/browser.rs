//! The dashboard in a real headless Chromium.

mod support;

use support::{Browser, HOSTILE, agent, serve};

/// What must hold on every page: no script ran, everything that can be typed into has a label,
/// nothing is wider than the window.
fn look(browser: &Browser, address: &str, title: &str) {
    browser.open(address);
    let seen = browser.text("h1");
    assert!(seen.contains(title), "{address}: {seen}");
    assert!(browser.text("html > head > title").contains("Racewarden"));
    let unlabelled = "return [...document.querySelectorAll('input:not([type=hidden]),select,textarea')]\
        .filter(e => !e.labels.length && !e.getAttribute('aria-label')).map(e => e.outerHTML).join();";
    assert_eq!(browser.run(unlabelled), "", "{address}: a field has no label");
    let wide = "return document.documentElement.scrollWidth - window.innerWidth;";
    assert!(browser.run(wide).as_i64().unwrap() <= 0, "{address} is wider than the window");
    assert_eq!(browser.run("return document.querySelectorAll('script,#pwned,img').length;"), 0);
    let styled = "return getComputedStyle(document.body).marginTop;";
    assert_eq!(browser.run(styled), "0px", "{address} has no style");
}

#[test]
fn every_page_a_filter_and_a_mark() {
    let server = serve(60);
    let browser = Browser::start(1280, 900);
    let at = |path: &str| format!("{}{path}", server.address);
    for (path, title, picture) in [
        ("/", "Overview", "overview"),
        ("/races", "Races", "races"),
        ("/captures", "Captures", "captures"),
        ("/captures/diff?old=1&new=2", "From capture #1", "diff"),
        ("/fleet", "Fleet", "fleet"),
        ("/audit", "Audit", "audit"),
    ] {
        look(&browser, &at(path), title);
        browser.picture(picture);
    }

    // A filter: the strongest proof, by the form.
    browser.open(&at("/races"));
    browser.click("#verdict option[value=harmful]");
    browser.click("form.filter button");
    browser.until("#total", "1 race");
    assert!(browser.address().contains("verdict=harmful"));
    browser.click("table.races tbody a");
    browser.until("h1", "harmful");

    // The race page: source, diagram, evidence, replay.
    let id = browser.address().rsplit('/').next().unwrap().to_owned();
    look(&browser, &browser.address(), &id);
    assert_eq!(browser.run("return document.querySelectorAll('.source tr.here mark').length;"), 2);
    assert!(browser.text(".source tr.here").contains("accounts[i].balance += amount"));
    assert_eq!(browser.run("return document.querySelectorAll('.interleaving .racing').length;"), 2);
    assert_eq!(browser.run("return document.querySelectorAll('.interleaving rect').length;"), 1);
    assert!(browser.text(".command").contains(&format!("racewarden replay {id}")));
    assert!(browser.text(".account").contains("hold `bank_lock` at bank.c:41"));
    browser.picture("race");
    browser.run("document.querySelector('.account').scrollIntoView();");
    browser.picture("race-interleaving");
    browser.run("document.querySelector('.timeline').scrollIntoView();");
    browser.picture("race-history");

    // A mark, with its trail, and back.
    browser.type_into("#reason", "Known; the audit is <i>advisory</i>.");
    browser.click("form[action$=mark] button");
    browser.until("h1", "suppressed");
    browser.open(&at("/audit"));
    assert!(browser.text("tbody tr").contains("marked suppressed"));
    assert!(browser.text("tbody tr").contains("<i>advisory</i>"), "markup stays text");
    browser.open(&at(&format!("/races/{id}")));
    browser.click("form[action$=undo] button");
    browser.until("h1", "harmful");
    browser.type_into("#assignee", "bob");
    browser.click("form[action$=assign] button");
    browser.until(".tag", "@bob");

    // Names with markup stay text, in the list and on their own page.
    browser.open(&at("/races?q=onerror"));
    assert_eq!(browser.text("td code"), HOSTILE);
    browser.click("table.races tbody a");
    browser.until("h1", HOSTILE);
    look(&browser, &browser.address(), HOSTILE);

    // Dark, and on a phone.
    browser.prefer("dark");
    browser.open(&at(&format!("/races/{id}")));
    browser.picture("race-dark");
    let ground = browser.run("return getComputedStyle(document.body).backgroundColor;");
    assert_eq!(ground, "rgb(20, 22, 26)");
    browser.resize(390, 844);
    for path in ["/", "/races", &format!("/races/{id}"), "/captures", "/fleet", "/audit"] {
        browser.open(&at(path));
        let wide = "return document.documentElement.scrollWidth - window.innerWidth;";
        assert!(browser.run(wide).as_i64().unwrap() <= 0, "{path} is wider than a phone");
    }
    browser.prefer("light");
    browser.open(&at("/races"));
    browser.picture("phone-races");
}

#[test]
fn ten_thousand_races_are_searched_in_time() {
    let server = serve(10_000);
    let browser = Browser::start(1280, 900);
    browser.open(&format!("{}/races", server.address));
    browser.type_into("#q", "table_77 bank.c");
    browser.click("form.filter button");
    browser.until("#total", "111 races");
    browser.click("a[rel=next]");
    browser.until(".pages", "Page 2 of 3");
    for query in
        ["", "?q=table_9", "?status=all&sort=rank&page=150", "?file=bank&verdict=potential"]
    {
        // The best of several, as other work may hold the processor; one in time is enough.
        let mut times: Vec<f64> = Vec::new();
        while times.len() < 40 && !times.iter().any(|time| *time < 200.0) {
            let answer = agent().get(format!("{}/races{query}", server.address)).call().unwrap();
            let timing = answer.headers()["server-timing"].to_str().unwrap().to_owned();
            times.push(timing.split("dur=").nth(1).unwrap().parse().unwrap());
        }
        let best = times.iter().copied().fold(f64::MAX, f64::min);
        assert!(best < 200.0, "{query}: {times:?} ms");
    }
}

#[test]
fn foreign_forms_hosts_and_paths_are_refused() {
    let server = serve(0);
    let race = format!("{}/races/R1", server.address);
    let status = |request: ureq::RequestBuilder<ureq::typestate::WithBody>, body: &str| {
        request
            .header("content-type", "application/x-www-form-urlencoded")
            .send(body)
            .unwrap()
            .status()
            .as_u16()
    };
    let page = agent().get(&race).call().unwrap().body_mut().read_to_string().unwrap();
    let token = page.split("name=\"token\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    let good = format!("token={token}&mark=suppressed&reason=known");
    let mark = || agent().post(format!("{race}/mark"));
    assert_eq!(status(mark(), "token=guess&mark=suppressed&reason=x"), 403);
    assert_eq!(status(mark(), "mark=suppressed&reason=x"), 422, "no token at all");
    assert_eq!(status(mark().header("origin", "http://evil.example"), &good), 403);
    assert_eq!(status(mark().header("sec-fetch-site", "cross-site"), &good), 403);
    assert_eq!(status(mark(), &good.replace("known", "%20")), 422, "a mark needs a reason");
    assert_eq!(status(mark(), &good.replace("suppressed", "nonsense")), 400);
    assert_eq!(status(mark(), &good), 303);

    let code = |path: &str, host: Option<&str>| {
        let mut request = agent().get(format!("{}{path}", server.address));
        if let Some(host) = host {
            request = request.header("host", host);
        }
        request.call().unwrap().status().as_u16()
    };
    assert_eq!(code("/", Some("evil.example")), 421);
    assert_eq!(code("/races/R999", None), 404);
    assert_eq!(code("/races/%3Cscript%3E", None), 404);
    assert_eq!(code("/captures/diff?old=1&new=77", None), 404);
    assert_eq!(code("/captures/diff?old=x&new=y", None), 400);
    assert_eq!(code("/nothing", None), 404);
    assert_eq!(code("/races?status=nonsense", None), 400);
    let answer = agent().get(&server.address).call().unwrap();
    let policy = answer.headers()["content-security-policy"].to_str().unwrap().to_owned();
    assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"));
}
