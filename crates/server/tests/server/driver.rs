//! A real Chromium, driven over WebDriver. Only the parts of the protocol that the tests need are
//! implemented.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

/// Name of an element in the protocol.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// Keys by their code points in the protocol.
pub(crate) const ENTER: &str = "\u{e007}";
pub(crate) const TAB: &str = "\u{e004}";

/// A browser, until dropped. Commands go to the window that was entered last, at first the only one.
pub(crate) struct Browser {
    chromedriver: Child,
    port: u16,
    session: String,
    _profile: TempDir,
}

/// The error code of the protocol.
pub(crate) type Refused = String;

impl Browser {
    /// Starts a browser, or prints why there is none. `flags` are added to Chromium's.
    pub(crate) fn start(flags: &[String]) -> Option<Browser> {
        let chromium = [
            "/usr/bin/chromium",
            "/usr/bin/chromium-browser",
            "/usr/bin/google-chrome",
        ];
        let Some(chromium) = chromium.into_iter().find(|path| Path::new(path).exists()) else {
            eprintln!("skipped: there is no chromium");
            return None;
        };
        let profile = tempfile::tempdir().expect("a folder");
        let Some((chromedriver, port)) = start_chromedriver(profile.path()) else {
            eprintln!("skipped: there is no chromedriver");
            return None;
        };
        let mut args: Vec<String> = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
        ]
        .map(str::to_owned)
        .to_vec();
        args.push(format!("--user-data-dir={}", profile.path().display()));
        args.extend_from_slice(flags);
        let mut browser = Browser {
            chromedriver,
            port,
            session: String::new(),
            _profile: profile,
        };
        let wanted = json!({ "capabilities": { "alwaysMatch": {
            "goog:chromeOptions": { "binary": chromium, "args": args },
            "unhandledPromptBehavior": "ignore",
        } } });
        let session = browser.call("POST", "/session", &wanted).expect("a session");
        browser.session = session["sessionId"].as_str().expect("its name").to_owned();
        browser.run(
            "timeouts",
            json!({ "script": 30_000, "pageLoad": 60_000, "implicit": 5_000 }),
        );
        browser.size(1280, 900);
        Some(browser)
    }

    /// Runs a command of the session that must succeed.
    fn run(&self, command: &str, body: Value) -> Value {
        self.try_run(command, body)
            .unwrap_or_else(|error| panic!("{command}: {error}"))
    }

    fn try_run(&self, command: &str, body: Value) -> Result<Value, Refused> {
        self.call("POST", &format!("/session/{}/{command}", self.session), &body)
    }

    fn read(&self, what: &str) -> Result<Value, Refused> {
        self.call("GET", &format!("/session/{}/{what}", self.session), &Value::Null)
    }

    fn call(&self, method: &str, path: &str, body: &Value) -> Result<Value, Refused> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("connect to chromedriver");
        stream
            .set_read_timeout(Some(Duration::from_secs(120)))
            .expect("a time limit");
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            self.port,
            body.len()
        );
        stream
            .write_all(request.as_bytes())
            .expect("send to chromedriver");
        let mut reader = BufReader::new(stream);
        let mut length = 0;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).expect("the head of an answer");
            if line.trim().is_empty() {
                break;
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().expect("a length");
            }
        }
        let mut answer = vec![0; length];
        reader.read_exact(&mut answer).expect("an answer");
        let answer: Value = serde_json::from_slice(&answer).expect("JSON");
        match answer["value"]["error"].as_str() {
            Some(error) => Err(format!("{error}: {}", answer["value"]["message"])),
            None => Ok(answer["value"].clone()),
        }
    }

    /// Returns the name of the current window.
    pub(crate) fn window(&self) -> String {
        let name = self.read("window").expect("a window");
        name.as_str().unwrap_or("").to_owned()
    }

    /// Opens another window beside the current one, and enters it.
    pub(crate) fn open_window(&self) -> String {
        let opened = self.run("window/new", json!({ "type": "window" }));
        let name = opened["handle"].as_str().expect("its name").to_owned();
        self.enter_window(&name);
        name
    }

    pub(crate) fn enter_window(&self, name: &str) {
        self.run("window", json!({ "handle": name }));
    }

    /// Opens an address and waits until it is loaded.
    pub(crate) fn go(&self, address: &str) {
        self.run("url", json!({ "url": address }));
    }

    pub(crate) fn back(&self) {
        self.run("back", json!({}));
    }

    pub(crate) fn title(&self) -> String {
        self.read("title")
            .expect("a title")
            .as_str()
            .unwrap_or("")
            .to_owned()
    }

    pub(crate) fn address(&self) -> String {
        self.read("url")
            .expect("an address")
            .as_str()
            .unwrap_or("")
            .to_owned()
    }

    /// Switches to the frame that `selector` matches, or to the whole page with `None`.
    pub(crate) fn enter_frame(&self, selector: Option<&str>) {
        let id = match selector {
            Some(selector) => json!({ ELEMENT: self.find(selector) }),
            None => Value::Null,
        };
        self.run("frame", json!({ "id": id }));
    }

    /// Returns the value of `return ...` in the page.
    pub(crate) fn script(&self, script: &str) -> Value {
        self.run("execute/sync", json!({ "script": script, "args": [] }))
    }

    /// Returns the value of `return ...` in the frame that `selector` matches. Fails while the page
    /// or the frame loads.
    pub(crate) fn script_in_frame(&self, selector: &str, script: &str) -> Result<Value, Refused> {
        self.enter_frame(None);
        let frame = self.try_find(selector)?;
        self.try_run("frame", json!({ "id": { ELEMENT: frame } }))?;
        let value = self.try_run("execute/sync", json!({ "script": script, "args": [] }));
        self.enter_frame(None);
        value
    }

    fn find(&self, selector: &str) -> String {
        self.try_find(selector)
            .unwrap_or_else(|error| panic!("{selector}: {error}"))
    }

    fn try_find(&self, selector: &str) -> Result<String, Refused> {
        let query = json!({ "using": "css selector", "value": selector });
        let found = self.try_run("element", query)?;
        Ok(found[ELEMENT].as_str().expect("an element").to_owned())
    }

    pub(crate) fn click(&self, selector: &str) {
        let element = self.find(selector);
        self.run(&format!("element/{element}/click"), json!({}));
    }

    /// Returns text as rendered.
    pub(crate) fn text(&self, selector: &str) -> String {
        let element = self.find(selector);
        let text = self.read(&format!("element/{element}/text")).expect("a text");
        text.as_str().unwrap_or("").to_owned()
    }

    /// Presses keys one after the other in the focused element.
    pub(crate) fn press(&self, keys: &str) {
        let strokes: Vec<Value> = keys
            .chars()
            .flat_map(|key| {
                [
                    json!({ "type": "keyDown", "value": key }),
                    json!({ "type": "keyUp", "value": key }),
                ]
            })
            .collect();
        self.run(
            "actions",
            json!({ "actions": [{ "type": "key", "id": "keys", "actions": strokes }] }),
        );
    }

    /// Returns whether a script opened a dialog.
    pub(crate) fn has_dialog(&self) -> bool {
        self.read("alert/text").is_ok()
    }

    /// Sets the size of the page's window. Below a width of 600 it emulates a phone.
    pub(crate) fn size(&self, width: u32, height: u32) {
        let phone = width < 600;
        self.devtools(
            "Emulation.setDeviceMetricsOverride",
            json!({
                "width": width, "height": height, "deviceScaleFactor": 1, "mobile": phone,
            }),
        );
    }

    pub(crate) fn dark(&self, dark: bool) {
        let value = if dark { "dark" } else { "light" };
        self.devtools(
            "Emulation.setEmulatedMedia",
            json!({ "features": [{ "name": "prefers-color-scheme", "value": value }] }),
        );
    }

    pub(crate) fn devtools(&self, command: &str, parameters: Value) -> Value {
        self.run(
            "goog/cdp/execute",
            json!({ "cmd": command, "params": parameters }),
        )
    }

    /// Returns the whole page as PNG.
    pub(crate) fn picture(&self) -> Vec<u8> {
        let size = self.script("return [innerWidth, Math.min(document.documentElement.scrollHeight, 6000)]");
        let clip = json!({ "x": 0, "y": 0, "width": size[0], "height": size[1], "scale": 1 });
        let picture = self.devtools(
            "Page.captureScreenshot",
            json!({ "format": "png", "captureBeyondViewport": true, "clip": clip }),
        );
        data_encoding::BASE64
            .decode(picture["data"].as_str().expect("a picture").as_bytes())
            .expect("Base64")
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if !self.session.is_empty() {
            let _ = self.call("DELETE", &format!("/session/{}", self.session), &Value::Null);
        }
        let _ = self.chromedriver.kill();
        let _ = self.chromedriver.wait();
    }
}

/// Starts chromedriver. `None` if there is none.
fn start_chromedriver(home: &Path) -> Option<(Child, u16)> {
    // It ends if the port that it chose for IPv4 is taken in IPv6, for example by another one.
    for _ in 0..10 {
        // The browser inherits this environment: a proxy of the user would see every request of the
        // tests.
        let mut chromedriver = test_env::command("chromedriver", home)
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        if let Some(port) = port_of(&mut chromedriver) {
            return Some((chromedriver, port));
        }
        chromedriver.wait().expect("it ends");
    }
    panic!("chromedriver ends before it listens");
}

/// Returns the port of chromedriver, from its output; `None` if it ends without one.
fn port_of(chromedriver: &mut Child) -> Option<u16> {
    let output = chromedriver.stdout.take().expect("its output");
    let mut lines = BufReader::new(output).lines();
    let line = lines
        .by_ref()
        .map_while(Result::ok)
        .find(|line| line.contains("successfully"))?;
    // Further output must be read, or the process would block.
    std::thread::spawn(move || lines.for_each(drop));
    let digits: String = line.chars().filter(char::is_ascii_digit).collect();
    Some(digits.parse().expect("a port"))
}
