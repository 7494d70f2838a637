// Redirects requests of an archived page's scripts to the archive. It runs before them, in a
// document with a unique origin, and does not trust anything that they may have changed: it saves
// the browser functions that it uses beforehand.
//
// Written only from the specifications of HTML, DOM, Fetch and XMLHttpRequest.
(function () {
  "use strict";
  // First, in case a later step fails: an archived page must not open connections. No header of
  // Chromium forbids WebRTC.
  for (const name of ["WebSocket", "WebSocketStream", "EventSource", "WebTransport", "RTCPeerConnection", "webkitRTCPeerConnection", "mozRTCPeerConnection"]) {
    if (name in self) {
      const value = class { constructor() { throw new DOMException("Archived pages cannot use " + name, "SecurityError"); } };
      Object.defineProperty(self, name, { writable: true, configurable: true, enumerable: false, value });
    }
  }
  const own = document.currentScript;
  const time = own.dataset.time;
  const pageUrl = own.dataset.url;
  const SHIM = own.src;
  own.remove();
  const PREFIX = "/replay/";
  // The key identifies requests of this document.
  const KEYED = PREFIX + (own.dataset.key ? "~" + own.dataset.key + "/" : "");
  const FRAME = "weft-replay";
  const NativeURL = URL;
  // A document of `srcdoc` has no address, but this script has one.
  const here = new NativeURL(SHIM);
  const origin = here.protocol + "//" + here.host;
  const isWeb = /^https?:$/;
  // An address of a capture, with or without the origin of this port.
  const ADDRESS = /^\/replay\/(?:~\w+\/)?\d*(?:[a-z]{2}_)?\/(https?:\/\/?.*)$/;

  // Returns the URL in the address of a capture. Other text is returned unchanged.
  function unmapped(text) {
    const path = text.startsWith(origin) ? text.slice(origin.length) : text;
    const found = ADDRESS.exec(path);
    return found ? found[1].replace(/^(https?:)\/+/, "$1//") : text;
  }

  function base() {
    // Only HTML elements, not those of a drawing.
    const found = Array.prototype.find.call(document.getElementsByTagNameNS("http://www.w3.org/1999/xhtml", "base"), (base) => attributes.has.call(base, "href"));
    if (!found) return pageUrl;
    const href = attributes.get.call(found, "href");
    try { return new NativeURL(unmapped(href), pageUrl).href; } catch { return pageUrl; }
  }

  // Returns the address of the capture of a URL that a script requests.
  function mapped(value, modifier) {
    let text;
    try { text = String(value).trim(); } catch { return value; }
    if (text === "" || text.startsWith("#") || /^(?:data|blob|javascript|about|mailto|tel):/i.test(text)) return value;
    if (text.startsWith(PREFIX) || text.startsWith(origin + PREFIX)) return value;
    let url;
    try { url = new NativeURL(unmapped(text), base()); } catch { return value; }
    if (!isWeb.test(url.protocol)) return value;
    // Scripts also build addresses from the location that they see.
    if (url.host === here.host) {
      const inner = ADDRESS.exec(url.pathname + url.search);
      try { url = new NativeURL(inner ? unmapped(url.pathname + url.search) : url.pathname + url.search, base()); } catch { return value; }
    }
    const hash = url.hash;
    url.hash = "";
    return origin + KEYED + time + modifier + "/" + url.href + hash;
  }

  function mappedSet(value) {
    return String(value).replace(/(^|,\s+|,(?=\S+\s))(\s*)([^\s,][^\s]*)/g, (all, comma, space, url) => comma + space + mapped(url, "im_"));
  }

  function mappedCss(value) {
    return String(value).replace(/url\(\s*(["']?)([^"')]+)\1\s*\)/gi, (all, mark, url) => "url(" + mark + mapped(url, "im_") + mark + ")");
  }

  // Attributes with references, by element, and the modifiers of their addresses.
  const REFERS = {
    img: { src: "im_" }, script: { src: "js_" }, iframe: { src: "mp_" }, frame: { src: "mp_" }, embed: { src: "mp_" },
    object: { data: "mp_" }, video: { src: "im_", poster: "im_" }, audio: { src: "im_" }, source: { src: "im_" },
    track: { src: "im_" }, input: { src: "im_", formaction: "mp_" }, button: { formaction: "mp_" }, form: { action: "mp_" },
    a: { href: "mp_" }, area: { href: "mp_" }, link: { href: "cs_" }, image: { href: "im_", "xlink:href": "im_" },
    use: { href: "im_", "xlink:href": "im_" }, body: { background: "im_" }, table: { background: "im_" }, td: { background: "im_" },
  };
  const PRESENTS = /^(?:fill|stroke|filter|mask|clip-path|marker-(?:start|mid|end)|cursor)$/;
  const attributes = { get: Element.prototype.getAttribute, set: Element.prototype.setAttribute, has: Element.prototype.hasAttribute };

  // Returns the address for a frame: a capture, or a document that contains this script. The script
  // of a `javascript:` address would run in a separate document without it, which could not reach
  // this page either, because their origins differ.
  function framed(value) {
    try { if (new NativeURL(String(value), pageUrl).protocol === "javascript:") return "about:blank"; } catch { /* Not an address. */ }
    return mapped(value, "mp_");
  }

  const quoted = (text) => String(text || "").replace(/&/g, "&amp;").replace(/"/g, "&quot;").replace(/</g, "&lt;");
  const SHIM_TAG = `<script src="${quoted(SHIM)}" data-key="${quoted(own.dataset.key)}" data-time="${quoted(time)}" data-url="${quoted(pageUrl)}"></script>`;
  const NativeParser = DOMParser;
  const parse = NativeParser.prototype.parseFromString;
  const outerHtml = Object.getOwnPropertyDescriptor(Element.prototype, "outerHTML");

  // Without an address a script consists of its text.
  function isShim(src) {
    try { return !!src && new NativeURL(src, SHIM).href === SHIM; } catch { return false; }
  }

  // Rewrites the document of a `srcdoc`, with this script before all other content.
  function mappedDocument(value) {
    const parsed = parse.call(new NativeParser(), String(value), "text/html");
    const first = parsed.querySelector(":not(html):not(head)");
    if (first && first.localName === "script" && isShim(attributes.get.call(first, "src"))) return value;
    mapTree(parsed);
    return (parsed.doctype ? "<!DOCTYPE html>" : "") + SHIM_TAG + outerHtml.get.call(parsed.documentElement);
  }

  const isFrame = (tag) => tag === "iframe" || tag === "frame" || tag === "embed" || tag === "object";

  function mappedAttribute(element, name, value) {
    const tag = (element.localName || "").toLowerCase();
    name = String(name).toLowerCase();
    if (isFrame(tag) && (name === "src" || name === "data")) return framed(value);
    if (name === "style" || PRESENTS.test(name)) return mappedCss(value);
    if (name === "srcset" || name === "imagesrcset") return mappedSet(value);
    if (name === "srcdoc") return mappedDocument(value);
    if (name === "target" && /^_(?:blank|top|new)$/i.test(value)) return FRAME;
    const modifier = (REFERS[tag] || {})[name];
    return modifier ? mapped(value, modifier) : value;
  }

  // Attributes that would be wrong for rewritten bytes, or that open connections.
  const isLeftOut = (name) => name === "integrity" || name === "ping" || name === "nonce";
  const onlyConnects = (rel) => /\b(?:preconnect|dns-prefetch|prefetch|prerender)\b/i.test(rel);

  // Rewrites the elements of a tree that is not in the document.
  function mapTree(root) {
    for (const element of root.querySelectorAll("*")) mapElement(element);
  }

  function mapElement(element) {
    const tag = (element.localName || "").toLowerCase();
    if (tag === "link" && onlyConnects(attributes.get.call(element, "rel") || "")) { element.remove(); return; }
    if (tag === "meta" && /content-security-policy|set-cookie/i.test(attributes.get.call(element, "http-equiv") || "")) { element.remove(); return; }
    if (tag === "style" && element.textContent.includes("url(")) element.textContent = mappedCss(element.textContent);
    for (const { name, value } of Array.from(element.attributes)) {
      if (isLeftOut(name)) { element.removeAttribute(name); continue; }
      const next = mappedAttribute(element, name, value);
      if (next !== value) attributes.set.call(element, name, next);
    }
    if (tag === "template") mapTree(element.content);
  }

  const templateOf = document.implementation.createHTMLDocument("");
  const innerHtml = Object.getOwnPropertyDescriptor(Element.prototype, "innerHTML");

  // Rewrites markup that a script puts into the page. A template fetches nothing.
  function mappedHtml(value) {
    const html = String(value);
    if (!/<[a-z]/i.test(html) || !/(?:src|href|action|data|poster|background|url\(|target|integrity|rel)/i.test(html)) return value;
    const template = templateOf.createElement("template");
    innerHtml.set.call(template, html);
    mapTree(template.content);
    return innerHtml.get.call(template);
  }

  // Rewrites the argument of `document.write` as text, because it may contain half a tag.
  function mappedWriting(html) {
    return String(html)
      .replace(/<link\b[^>]*\brel\s*=\s*["']?[^>"']*(?:preconnect|dns-prefetch)[^>]*>/gi, "")
      .replace(/(<([a-z]+)\b[^>]*?\s)(src|href|action|data|poster|background)(\s*=\s*)(["']?)([^"'\s>]+)/gi,
        (all, before, tag, name, equals, mark, url) => {
          const modifier = (REFERS[tag.toLowerCase()] || {})[name.toLowerCase()];
          return modifier ? before + name + equals + mark + mapped(url.replace(/&amp;/g, "&"), modifier).replace(/&/g, "&amp;") : all;
        });
  }

  function define(object, name, descriptor) {
    try { Object.defineProperty(object, name, { configurable: true, enumerable: true, ...descriptor }); } catch { /* The browser's own property is kept. */ }
  }

  function wrap(object, name, make) {
    const native = object && object[name];
    if (typeof native === "function") {
      define(object, name, { writable: true, value: make(native) });
    }
  }

  // Properties that reflect attributes.
  function property(Class, name, map, read) {
    const native = Class && Object.getOwnPropertyDescriptor(Class.prototype, name);
    if (!native || !native.set) return;
    define(Class.prototype, name, {
      get() { const value = native.get.call(this); return read && typeof value === "string" ? unmapped(value) : value; },
      set(value) { native.set.call(this, map(value, this)); },
    });
  }
  for (const [Class, name, modifier] of [
    [HTMLImageElement, "src", "im_"], [HTMLScriptElement, "src", "js_"],
    [HTMLMediaElement, "src", "im_"], [HTMLSourceElement, "src", "im_"], [HTMLTrackElement, "src", "im_"],
    [HTMLVideoElement, "poster", "im_"], [HTMLInputElement, "src", "im_"], [HTMLInputElement, "formAction", "mp_"],
    [HTMLButtonElement, "formAction", "mp_"],
    [HTMLLinkElement, "href", "cs_"], [HTMLAnchorElement, "href", "mp_"], [HTMLAreaElement, "href", "mp_"],
    [HTMLFormElement, "action", "mp_"], [HTMLBodyElement, "background", "im_"],
  ]) property(Class, name, (value) => mapped(value, modifier), true);
  property(HTMLImageElement, "srcset", mappedSet);
  property(HTMLSourceElement, "srcset", mappedSet);
  property(HTMLIFrameElement, "srcdoc", mappedDocument);
  for (const [Class, name] of [[HTMLIFrameElement, "src"], [self.HTMLFrameElement, "src"], [HTMLEmbedElement, "src"], [HTMLObjectElement, "data"]]) property(Class, name, framed, true);
  property(HTMLScriptElement, "integrity", () => "");
  property(HTMLLinkElement, "integrity", () => "");
  property(HTMLLinkElement, "rel", (value) => onlyConnects(value) ? "" : value);
  property(HTMLAnchorElement, "ping", () => "");
  property(Element, "innerHTML", (value, element) => element.localName === "style" ? mappedCss(value) : element.localName === "script" ? value : mappedHtml(value));
  property(Element, "outerHTML", mappedHtml);
  wrap(Element.prototype, "insertAdjacentHTML", (native) => function (where, html) { return native.call(this, where, mappedHtml(html)); });
  wrap(Element.prototype, "setAttribute", (native) => function (name, value) {
    if (isLeftOut(String(name).toLowerCase())) return undefined;
    if (this.localName === "link" && String(name).toLowerCase() === "rel" && onlyConnects(value)) return undefined;
    return native.call(this, name, mappedAttribute(this, name, String(value)));
  });
  wrap(Element.prototype, "setAttributeNS", (native) => function (space, name, value) {
    return native.call(this, space, name, mappedAttribute(this, name, String(value)));
  });
  wrap(Element.prototype, "getAttribute", (native) => function (name) {
    const value = native.call(this, name);
    return typeof value === "string" && value.startsWith(PREFIX) ? unmapped(value) : value;
  });
  wrap(Range.prototype, "createContextualFragment", (native) => function (html) { return native.call(this, mappedHtml(html)); });
  wrap(Document.prototype, "write", (native) => function (...parts) { return native.call(this, mappedWriting(parts.join(""))); });
  wrap(Document.prototype, "writeln", (native) => function (...parts) { return native.call(this, mappedWriting(parts.join("")) + "\n"); });
  wrap(CSSStyleDeclaration.prototype, "setProperty", (native) => function (name, value, priority) { return native.call(this, name, mappedCss(value), priority || ""); });
  property(CSSStyleDeclaration, "cssText", mappedCss);
  for (const name of ["background", "backgroundImage", "listStyle", "listStyleImage", "borderImage", "content", "cursor"]) property(CSSStyleDeclaration, name, mappedCss);
  wrap(CSSStyleSheet.prototype, "insertRule", (native) => function (rule, index) { return native.call(this, mappedCss(rule), index); });

  // Requests of scripts.
  const NativeRequest = self.Request;
  wrap(self, "fetch", (native) => function (input, init) {
    if (input instanceof NativeRequest) return native.call(self, new NativeRequest(mapped(input.url, "xr_"), input), init);
    return native.call(self, mapped(input, "xr_"), init);
  });
  if (NativeRequest) {
    self.Request = new Proxy(NativeRequest, {
      construct(target, [input, init]) { return new target(input instanceof NativeRequest ? input : mapped(input, "xr_"), init); },
    });
  }
  wrap(XMLHttpRequest.prototype, "open", (native) => function (method, url, ...rest) { return native.call(this, method, mapped(url, "xr_"), ...rest); });
  // Beacons are dropped, workers load from the archive, and service workers are not available.
  wrap(Navigator.prototype, "sendBeacon", () => function () { return true; });
  for (const name of ["Worker", "SharedWorker"]) {
    if (self[name]) self[name] = new Proxy(self[name], { construct: (target, [url, options]) => new target(mapped(url, "js_"), options) });
  }
  define(Navigator.prototype, "serviceWorker", { get: () => undefined });

  // Navigation by scripts.
  wrap(self, "open", (native) => function (url) {
    const address = url ? mapped(url, "mp_") : "";
    if (String(address).startsWith(origin + PREFIX)) location.assign(address);
    return null;
  });
  for (const name of ["pushState", "replaceState"]) {
    wrap(History.prototype, name, (native) => function (state, title, url) {
      try { return native.call(this, state, title, url === undefined || url === null ? undefined : mapped(url, "mp_")); } catch { return undefined; }
    });
  }
  addEventListener("click", (event) => {
    const link = event.target && event.target.closest && event.target.closest("a[target],area[target]");
    if (!link) return;
    const target = attributes.get.call(link, "target");
    let known = false;
    try { known = target.startsWith("_") || target === FRAME || !!self[target]; } catch { known = true; }
    if (!known) attributes.set.call(link, "target", FRAME);
  }, true);

  // The page's own location.
  for (const name of ["URL", "documentURI"]) define(Document.prototype, name, { get: () => pageUrl });
  define(Document.prototype, "baseURI", { get: base });
  const referrer = unmapped(document.referrer);
  define(Document.prototype, "referrer", { get: () => referrer.startsWith(origin) ? "" : referrer });
  define(Document.prototype, "domain", { get: () => new NativeURL(pageUrl).hostname, set() { /* Ignored: no other document can share the domain. */ } });

  // Cookies and storage that end with the document. The browser keeps none, because the document
  // has no origin.
  const cookies = new Map();
  define(Document.prototype, "cookie", {
    get: () => Array.from(cookies, ([name, value]) => name + "=" + value).join("; "),
    set(text) {
      const [pair, ...rest] = String(text).split(";");
      const at = pair.indexOf("=");
      const name = pair.slice(0, Math.max(at, 0)).trim();
      const over = rest.some((part) => /^\s*max-age\s*=\s*(?:0|-)/i.test(part) || (/^\s*expires\s*=/i.test(part) && Date.parse(part.split("=")[1]) < Date.now()));
      if (over) cookies.delete(name); else cookies.set(name, pair.slice(at + 1).trim());
    },
  });
  class Storage {
    constructor() { define(this, "kept", { value: new Map(), enumerable: false }); }
    get length() { return this.kept.size; }
    key(index) { const name = Array.from(this.kept.keys())[index]; return name === undefined ? null : name; }
    getItem(name) { return this.kept.has(String(name)) ? this.kept.get(String(name)) : null; }
    setItem(name, value) { this.kept.set(String(name), String(value)); }
    removeItem(name) { this.kept.delete(String(name)); }
    clear() { this.kept.clear(); }
  }
  for (const name of ["localStorage", "sessionStorage"]) {
    const storage = new Proxy(new Storage(), {
      get: (kept, key) => key in kept ? (typeof kept[key] === "function" ? kept[key].bind(kept) : kept[key]) : typeof key === "string" ? (kept.getItem(key) ?? undefined) : undefined,
      set: (kept, key, value) => { kept.setItem(key, value); return true; },
      deleteProperty: (kept, key) => { kept.removeItem(key); return true; },
      has: (kept, key) => key in Storage.prototype || kept.kept.has(key),
      ownKeys: (kept) => Array.from(kept.kept.keys()),
      getOwnPropertyDescriptor: (kept, key) => kept.kept.has(key) ? { value: kept.kept.get(key), configurable: true, enumerable: true, writable: true } : undefined,
    });
    define(self, name, { get: () => storage });
  }

  // Content that entered the page in other ways is rewritten before the next frame is drawn, and
  // before the document of a frame is loaded.
  const observer = new MutationObserver((changes) => {
    for (const change of changes) {
      if (change.type === "attributes") { mapElement(change.target); continue; }
      for (const node of change.addedNodes) if (node.nodeType === 1) { mapElement(node); mapTree(node); }
    }
  });
  const observe = MutationObserver.prototype.observe;
  const follow = (root) => observe.call(observer, root, { childList: true, subtree: true, attributes: true, attributeFilter: ["src", "srcdoc", "data", "rel"] });
  follow(document);
  // Only observers of its own root see a shadow tree.
  wrap(Element.prototype, "attachShadow", (native) => function (settings) { const root = native.call(this, settings); follow(root); return root; });

  // If the surrounding page is that of the archive, it shows the reader's location.
  if (parent !== self && self.name === FRAME) {
    const tell = () => parent.postMessage({ weft: "replay", url: pageUrl, time, title: document.title }, "*");
    addEventListener("DOMContentLoaded", tell);
  }
})();
