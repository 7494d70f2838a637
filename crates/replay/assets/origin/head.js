// Runs before all scripts of an archived document that has its own origin. It does what the
// service worker cannot do, because the worker sees only requests: frames and links that lead to
// other sites, documents that are not given to the worker, and connections that are no requests.
//
// Scripts of the page may change every function of the browser. What keeps the page in the archive
// uses only functions that were saved before.
(function () {
  "use strict";
  const own = document.currentScript;
  // `in_worker.js` is before this script.
  const IN_WORKER = String(self.weftInWorker);
  const pageUrl = own.dataset.url;
  const time = own.dataset.time;
  const HEAD = own.src;
  const FRAME = "weft-replay";
  const NativeURL = URL;
  const here = new NativeURL(HEAD);
  // The name after the first label is that of all sites at this time.
  const rest = here.host.slice(here.host.indexOf("."));
  const isWeb = /^https?:$/;
  const { apply, defineProperty, getOwnPropertyDescriptor } = Reflect;
  // Stops a document in which this script did not run.
  const CHECK_TAG = "<script>document.currentScript.remove();self.weftHead?delete self.weftHead:stop()</script>";
  // Documents in attributes get this head. It is the same in every document of the site: a frame that
  // two of them follow would otherwise get one head after the other without end.
  const DOCUMENT_TAG = `<script src="${HEAD}" data-url="${new NativeURL("/", pageUrl).href}" data-time=""></script>` + CHECK_TAG;
  own.remove();
  // For a document that the browser does not give to the worker, because it has another origin. It
  // may load nothing.
  const POLICY_TAG = `<meta http-equiv="Content-Security-Policy" content="default-src data: blob: 'unsafe-inline' 'unsafe-eval'; frame-src 'none'; object-src 'none'; form-action 'none'; script-src 'unsafe-inline' 'unsafe-eval' data: blob: ${here.origin}">`;
  const isOpaque = self.origin === "null";
  if (isOpaque) document.head.insertAdjacentHTML("afterbegin", POLICY_TAG);
  else try { sessionStorage.removeItem("weft-tries"); } catch { /* There is no storage. */ }
  // Whether the window around this one is the archive's, of which the page knows nothing.
  const around = location.ancestorOrigins && location.ancestorOrigins[0];
  const outside = window.parent;
  const isOutermost = outside !== window && !isOpaque && location.protocol !== "about:" && !(around && around.endsWith(rest));

  // The first label of a site's name, or "" if only the server can make it. `origin.rs` describes
  // the form.
  function label(url) {
    const host = url.hostname;
    if (!/^[a-z0-9.-]+$/.test(host) || /^[.]|[.][.]|[.]$|-[.]|[.]-/.test(host)) return "";
    const plain = host.replace(/-/g, "--").replace(/[.]/g, "-");
    if (!url.port && /--\d{1,5}$/.test(plain)) return "";
    const text = url.protocol.slice(0, -1) + "--" + plain + (url.port && "--" + url.port);
    return text.length > 63 ? "" : text;
  }

  // The origin of a site for an origin of the archive. Other origins are returned unchanged.
  function unmappedOrigin(origin) {
    const found = /^https?:\/\/(https?)--([^.]+)([.].*)$/.exec(origin);
    if (!found || found[3] !== rest) return origin;
    const [, host, port] = /^(.*?)(?:--(\d{1,5}))?$/.exec(found[2]);
    const plain = host.replace(/-+/g, (run) => run.length === 1 ? "." : "-".repeat(run.length / 2));
    return found[1] + "://" + plain + (port ? ":" + port : "");
  }

  // The origin of the archive for the origin of a site, or "" if only the server knows it.
  function mappedOrigin(url) {
    const first = label(url);
    return first && here.protocol + "//" + first + rest;
  }

  // The address here of a page that may belong to another site. Other text is returned unchanged.
  function mapped(value) {
    let url;
    try { url = new NativeURL(String(value), document.baseURI); } catch { return value; }
    if (!isWeb.test(url.protocol) || url.host.endsWith(rest)) return value;
    const origin = mappedOrigin(url);
    return origin ? origin + url.pathname + url.search + url.hash : here.origin + "/__weft/to?url=" + encodeURIComponent(url.href);
  }

  function define(object, name, descriptor) {
    try { defineProperty(object, name, { configurable: true, enumerable: true, ...descriptor }); } catch { /* The browser's own property is kept. */ }
  }

  function wrap(object, name, make) {
    const native = object && object[name];
    if (typeof native === "function") define(object, name, { writable: true, value: make(native) });
  }

  // Prepares a window of this origin: this one, and each that the page makes without a request.
  const guarded = new WeakSet();
  const { has, add } = WeakSet.prototype;
  function guard(self) {
    if (!self || apply(has, guarded, [self])) return;
    apply(add, guarded, [self]);
    guardConnections(self);
    guardFrames(self, self.document);
    if (self === window) window.weftHead = true;
    guardMarkup(self);
    guardDocument(self);
    guardMessages(self);
    guardNavigation(self);
  }

  // Connections that are no requests, and requests that are not given to the worker.
  const CONNECTIONS = ["WebSocketStream", "WebTransport", "RTCPeerConnection", "webkitRTCPeerConnection", "mozRTCPeerConnection", "fetchLater"];
  function guardConnections(self) {
    const { DOMException } = self;
    for (let at = 0; at < CONNECTIONS.length; at++) {
      const name = CONNECTIONS[at];
      if (name in self) defineProperty(self, name, { configurable: true, writable: true, value: function () { throw new DOMException("Archived pages cannot use " + name, "SecurityError"); } });
    }
    delete self.Navigator.prototype.serviceWorker;
    // It belongs to the realm of this window, and prepares its workers.
    apply(self.Function("return " + IN_WORKER)(), self, []);
  }

  // What the page reads of itself. `location` cannot be replaced (HTML, section 7.2.4).
  function guardDocument(self) {
    const { prototype } = self.Document;
    // The small page that installs the worker makes a document its own referrer.
    let referrer = "";
    try { const url = new NativeURL(self.document.referrer); if (url.host.endsWith(rest) && url.href !== location.href.split("#")[0]) referrer = unmappedOrigin(url.origin) + url.pathname + url.search; } catch { /* There is none. */ }
    if (self === window && isWeb.test(location.protocol)) {
      for (const name of ["URL", "documentURI"]) define(prototype, name, { get: () => new NativeURL(location.pathname + location.search + location.hash, pageUrl).href });
    }
    define(prototype, "referrer", { get: () => referrer });
    define(prototype, "domain", { get: () => new NativeURL(pageUrl).hostname, set() { /* Origins here are never joined. */ } });
    if (isOpaque) return;
    define(prototype, "cookie", { get: readCookies, set: writeCookie });
    define(self, "cookieStore", { get: () => undefined });
    for (const name of ["pushState", "replaceState"]) {
      wrap(self.History.prototype, name, (native) => function (state, title, url) {
        return native.call(this, state, title, url === undefined || url === null ? url : mapped(url));
      });
    }
  }

  // Cookies are in the storage of this origin. The browser refuses its own in frames, and would
  // share them with other sites of the archive if a page gave them a domain.
  const COOKIES = "weft-cookies";
  const { getItem, setItem } = Storage.prototype;
  function cookies() {
    let all = {};
    try { all = JSON.parse(getItem.call(localStorage, COOKIES)) || {}; } catch { /* The page wrote something else there. */ }
    for (const name of Object.keys(all)) if (all[name].until && all[name].until < Date.now()) delete all[name];
    return all;
  }
  function readCookies() {
    return Object.entries(cookies()).map(([name, { value }]) => name ? name + "=" + value : value).join("; ");
  }
  function writeCookie(text) {
    const [pair, ...settings] = String(text).split(";");
    const at = pair.indexOf("=");
    let until = 0;
    for (const setting of settings) {
      const [key, value] = setting.trim().split("=");
      if (/^max-age$/i.test(key)) { until = Number(value) > 0 ? Date.now() + Number(value) * 1000 : 1; break; }
      if (/^expires$/i.test(key)) until = Date.parse(value) || 0;
    }
    const all = cookies();
    all[pair.slice(0, Math.max(at, 0)).trim()] = { value: pair.slice(at + 1).trim(), until };
    try { setItem.call(localStorage, COOKIES, JSON.stringify(all)); } catch { /* There is no room. */ }
  }

  function isReadable(other) {
    try { return other.location.href !== undefined; } catch { return false; }
  }

  // A window of another site, with the functions that take addresses.
  const views = new WeakMap();
  function view(other) {
    if (!other || isReadable(other)) return other;
    if (!views.has(other)) {
      const post = (message, target, transfer) => {
        const options = target && typeof target === "object" ? { ...target } : { targetOrigin: target, transfer };
        const wanted = options.targetOrigin;
        if (wanted && wanted !== "*" && wanted !== "/") options.targetOrigin = mapped(wanted);
        other.postMessage(message, options);
      };
      const location = defineProperty({ replace: (url) => other.location.replace(mapped(url)) }, "href", { set: (url) => { other.location.href = mapped(url); } });
      views.set(other, new Proxy({}, {
        get: (_, name) => name === "postMessage" ? post : name === "location" ? location : view(other[name]),
        set: (_, name, value) => { if (name === "location") other.location = mapped(value); return true; },
        has: (_, name) => name in other,
        getPrototypeOf: () => null,
      }));
    }
    return views.get(other);
  }

  function guardMessages(self) {
    const { prototype } = self.MessageEvent;
    const origin = getOwnPropertyDescriptor(prototype, "origin");
    const source = getOwnPropertyDescriptor(prototype, "source");
    define(prototype, "origin", { get() { return unmappedOrigin(origin.get.call(this)); } });
    define(prototype, "source", { get() { return view(source.get.call(this)); } });
    wrap(self, "postMessage", (native) => function (message, target, transfer) {
      const isOrigin = typeof target === "string" && target !== "*" && target !== "/";
      return native.call(self, message, isOrigin ? mapped(target) : target, transfer);
    });
    const parent = self === window && isOutermost ? self : view(self.parent);
    define(self, "parent", { get: () => parent });
  }

  const attributes = { get: Element.prototype.getAttribute, set: Element.prototype.setAttribute, remove: Element.prototype.removeAttribute };
  const attribute = (element, name) => apply(attributes.get, element, [name]);
  const remove = Element.prototype.remove;
  const select = DocumentFragment.prototype.querySelectorAll;
  const selectBelow = Element.prototype.querySelectorAll;
  const nameOf = getOwnPropertyDescriptor(Element.prototype, "localName").get;

  // Leads a frame or a link to the address here.
  function lead(element, name) {
    const value = attribute(element, name);
    if (value === null) return;
    const address = mapped(value);
    if (address !== value) apply(attributes.set, element, [name, address]);
  }

  const CONNECTS = /\b(?:preconnect|dns-prefetch|prefetch|prerender)\b/i;
  const test = RegExp.prototype.test;
  const starts = String.prototype.startsWith;

  // Prepares an element before the browser acts on it: the address of a frame, the head of a
  // document in an attribute, and what only opens connections.
  function prepare(element) {
    switch (apply(nameOf, element, [])) {
      case "iframe": case "frame": {
        lead(element, "src");
        const srcdoc = attribute(element, "srcdoc");
        if (srcdoc !== null && !apply(starts, srcdoc, [headOf(element)])) apply(attributes.set, element, ["srcdoc", headOf(element) + srcdoc]);
        break;
      }
      case "link": if (apply(test, CONNECTS, [attribute(element, "rel") || ""])) apply(remove, element, []); break;
      case "script": if (attribute(element, "type") === "speculationrules") apply(remove, element, []); break;
    }
  }
  function headOf(frame) {
    const sandbox = attribute(frame, "sandbox");
    const isApart = (sandbox !== null && !apply(test, /(?:^|[\t\n\f\r ])allow-same-origin(?:$|[\t\n\f\r ])/i, [sandbox])) || attribute(frame, "credentialless") !== null;
    return isApart ? POLICY_TAG + DOCUMENT_TAG : DOCUMENT_TAG;
  }
  // Makes the shadow trees that markup declared. The server and this script rename the attribute,
  // because a tree that the browser made could not be followed.
  const TREE = "data-shadowrootmode";
  function makeTrees(root, all) {
    const found = apply(all, root, [`template[${TREE}]`]);
    for (let at = 0; at < found.length; at++) {
      const template = found[at];
      try {
        const tree = template.parentNode.attachShadow({ mode: attribute(template, TREE) });
        tree.append(template.content);
        apply(remove, template, []);
        makeTrees(tree, select);
      } catch { /* This element can have no tree, or has one. */ }
    }
  }

  const PREPARED = "iframe,frame,link[rel],script[type]";
  function prepareAll(root, all) {
    const found = apply(all, root, [PREPARED]);
    for (let at = 0; at < found.length; at++) prepare(found[at]);
  }

  const contentOf = (Class) => Class && getOwnPropertyDescriptor(Class.prototype, "contentWindow").get;
  const contents = { __proto__: null, iframe: contentOf(HTMLIFrameElement), frame: contentOf(window.HTMLFrameElement) };
  // Prepares the window of a frame, if it has this origin. A document around this one may have prepared
  // this window, too: its getter is called only once, or deep frames would take exponential time.
  function enter(frame) {
    try { guardReadable(apply(contents[apply(nameOf, frame, [])], frame, [])); } catch { /* It is another kind of element. */ }
  }
  function guardReadable(found) {
    if (isReadable(found)) guard(found);
    return found;
  }

  // The window of a frame that has an address is there (`window[0]`) before the observer is called.
  const lengthOf = getOwnPropertyDescriptor(window, "length").get;
  function enterAll(self) {
    const length = apply(lengthOf, self, []);
    for (let at = 0; at < length; at++) {
      const found = self[at];
      if (!isReadable(found)) continue;
      try { guard(found); } catch { /* It is being replaced. */ }
      enterAll(found);
    }
  }
  const INSERTS = [
    ["Node", ["appendChild", "insertBefore", "replaceChild"]],
    ["Element", ["append", "prepend", "before", "after", "replaceWith", "replaceChildren", "moveBefore", "insertAdjacentElement", "insertAdjacentHTML", "setHTMLUnsafe"]],
    ["CharacterData", ["before", "after", "replaceWith"]],
    ["DocumentFragment", ["append", "prepend", "replaceChildren", "moveBefore"]],
    ["Document", ["append", "prepend", "replaceChildren", "moveBefore", "write", "writeln", "execCommand"]],
    ["Range", ["insertNode", "surroundContents"]],
  ];
  function guardInserts(self) {
    for (let n = 0; n < INSERTS.length; n++) {
      const prototype = self[INSERTS[n][0]].prototype;
      const names = INSERTS[n][1];
      for (let at = 0; at < names.length; at++) {
        wrap(prototype, names[at], (native) => function (...given) {
          try { return apply(native, this, given); } finally { enterAll(self); }
        });
      }
    }
  }

  function guardFrames(self, document) {
    for (const name of ["HTMLIFrameElement", "HTMLFrameElement"]) {
      const prototype = self[name] && self[name].prototype;
      if (!prototype) continue;
      const { get } = getOwnPropertyDescriptor(prototype, "contentWindow");
      const inner = getOwnPropertyDescriptor(prototype, "contentDocument").get;
      define(prototype, "contentWindow", { get() { return view(guardReadable(apply(get, this, []))); } });
      define(prototype, "contentDocument", { get() { enter(this); return apply(inner, this, []); } });
      const src = getOwnPropertyDescriptor(prototype, "src");
      define(prototype, "src", { get: src.get, set(value) { src.set.call(this, mapped(value)); } });
      const srcdoc = getOwnPropertyDescriptor(prototype, "srcdoc");
      if (srcdoc) define(prototype, "srcdoc", { get: srcdoc.get, set(value) { srcdoc.set.call(this, headOf(this) + value); } });
    }
    follow(self, document);
    wrap(self.Element.prototype, "attachShadow", (native) => function (settings) { const root = apply(native, this, [settings]); follow(self, root); return root; });
  }

  // Follows a tree. An empty frame reports that it is loaded while it is inserted, before a script
  // can use its window.
  const targetOf = getOwnPropertyDescriptor(Event.prototype, "target").get;
  const listen = EventTarget.prototype.addEventListener;
  const observe = MutationObserver.prototype.observe;
  const NativeObserver = MutationObserver;
  const nodes = { added: getOwnPropertyDescriptor(MutationRecord.prototype, "addedNodes").get, target: getOwnPropertyDescriptor(MutationRecord.prototype, "target").get, kind: getOwnPropertyDescriptor(Node.prototype, "nodeType").get };
  function follow(self, root) {
    apply(listen, root, ["load", (event) => enter(apply(targetOf, event, [])), true]);
    const observer = new NativeObserver((changes) => {
      for (let at = 0; at < changes.length; at++) {
        prepareNode(apply(nodes.target, changes[at], []));
        const added = apply(nodes.added, changes[at], []);
        for (let n = 0; n < added.length; n++) prepareNode(added[n], true);
      }
    });
    apply(observe, observer, [root, { childList: true, subtree: true, attributes: true, attributeFilter: ["src", "srcdoc", "sandbox", "credentialless", "rel", "href"] }]);
  }
  function prepareNode(node, withAll) {
    if (apply(nodes.kind, node, []) !== 1) return;
    prepare(node);
    enter(node);
    if (!withAll) return;
    prepareAll(node, selectBelow);
    // A template that is being parsed is not complete.
    if (isParsed) makeTrees(node, selectBelow);
    const frames = apply(selectBelow, node, ["iframe,frame"]);
    for (let at = 0; at < frames.length; at++) enter(frames[at]);
  }

  // Markup that a script puts into the page. A template loads nothing.
  const inert = document.implementation.createHTMLDocument("");
  const innerHtml = getOwnPropertyDescriptor(Element.prototype, "innerHTML");
  const content = getOwnPropertyDescriptor(HTMLTemplateElement.prototype, "content").get;
  const create = Document.prototype.createElement;
  const replace = String.prototype.replace;
  const ACTS = /<(?:iframe|frame|link|script)\b/i;
  // Shadow trees that markup declares could not be followed.
  const withoutTrees = (html) => apply(replace, String(html), [/shadowrootmode/gi, "data-$&"]);
  function preparedMarkup(html) {
    const text = withoutTrees(html);
    if (!apply(test, ACTS, [text])) return text;
    const template = apply(create, inert, ["template"]);
    innerHtml.set.call(template, text);
    prepareAll(apply(content, template, []), select);
    return innerHtml.get.call(template);
  }

  // What is written may end within a tag, so it is changed as text.
  function preparedWriting(parts) {
    return withoutTrees(parts.join("")).replace(/(<i?frame\b[^>]*?\ssrc\s*=\s*)(["']?)([^"'\s>]+)/gi,
      (_, before, mark, url) => before + mark + mapped(url.replace(/&amp;/g, "&")).replace(/&/g, "&amp;"));
  }

  // A document around this one may have done it. Twice would double the work with each level.
  const MARKUP = Symbol.for("weft-markup");
  function guardMarkup(self) {
    if (self[MARKUP]) return;
    defineProperty(self, MARKUP, { value: true });
    for (const [Class, name] of [["Element", "innerHTML"], ["Element", "outerHTML"], ["ShadowRoot", "innerHTML"]]) {
      const native = getOwnPropertyDescriptor(self[Class].prototype, name);
      if (native) define(self[Class].prototype, name, { get: native.get, set(value) { native.set.call(this, this.localName === "script" || this.localName === "style" ? value : preparedMarkup(value)); enterAll(self); } });
    }
    wrap(self.Element.prototype, "insertAdjacentHTML", (native) => function (where, html) { return native.call(this, where, preparedMarkup(html)); });
    for (const Class of ["Element", "ShadowRoot"]) wrap(self[Class].prototype, "setHTMLUnsafe", (native) => function (html, options) { return native.call(this, preparedMarkup(html), options); });
    wrap(self.Document, "parseHTMLUnsafe", (native) => function (html, options) { return native.call(this, withoutTrees(html), options); });
    wrap(self.Range.prototype, "createContextualFragment", (native) => function (html) { return native.call(this, preparedMarkup(html)); });
    wrap(self.Document.prototype, "write", (native) => function (...parts) { return native.call(this, preparedWriting(parts)); });
    wrap(self.Document.prototype, "writeln", (native) => function (...parts) { return native.call(this, preparedWriting(parts) + "\n"); });
    wrap(self.Element.prototype, "setAttribute", (native) => function (name, value) {
      const isFrame = this.localName === "iframe" || this.localName === "frame";
      if (isFrame && /^srcdoc$/i.test(name)) value = headOf(this) + value;
      return native.call(this, name, isFrame && /^src$/i.test(name) ? mapped(value) : value);
    });
    guardInserts(self);
  }

  function guardNavigation(self) {
    const toFrame = (element) => { if (/^_(?:blank|top|new)$/i.test(attribute(element, "target"))) attributes.set.call(element, "target", FRAME); };
    const send = (form, submitter) => {
      lead(form, "action");
      if (submitter) lead(submitter, "formaction");
      toFrame(form);
    };
    // Links, however they are used: also in a new tab. A link is led before the browser reads it.
    const leave = (event) => {
      const link = event.composedPath().find((node) => node.localName === "a" || node.localName === "area");
      if (!link) return;
      lead(link, "href");
      attributes.remove.call(link, "ping");
      toFrame(link);
    };
    for (const kind of ["pointerdown", "mousedown", "keydown", "focusin", "click", "auxclick", "contextmenu", "dragstart"]) self.addEventListener(kind, leave, true);
    self.addEventListener("submit", (event) => send(event.target, event.submitter), true);
    wrap(self.HTMLFormElement.prototype, "submit", (native) => function () { send(this); return native.call(this); });
    wrap(self, "open", (native) => function (url, target, features) {
      if (target !== undefined && (/^_(?:self|parent)$/i.test(target) || self[target])) return native.call(self, url && mapped(url), target, features);
      if (url) self.location.assign(mapped(url));
      return null;
    });
    // `location = "http://other.example/"`, and everything that is not seen above.
    if (self.navigation) {
      self.navigation.addEventListener("navigate", (event) => {
        const { url } = event.destination;
        const address = mapped(url);
        if (!event.cancelable || event.formData || address === url) return;
        event.preventDefault();
        self.location.assign(address);
      });
    }
  }

  let isParsed = false;
  document.addEventListener("readystatechange", () => {
    isParsed = true;
    makeTrees(document.documentElement, selectBelow);
  }, { once: true });
  guard(window);

  // The archive's page around this one shows where the reader is, and waits until the page arrives.
  if (isOutermost) {
    outside.postMessage({ weft: "arrived" }, "*");
    addEventListener("DOMContentLoaded", () => outside.postMessage({ weft: "replay", url: document.URL, time, title: document.title }, "*"));
  }
})();
