// The service worker of the origin of an archived site. It answers every request of the site's
// documents from the archive. The server puts a line before this script that sets SITE, the origin
// that was captured.
//
// It keeps nothing. Scripts of the site share its origin, and could change what it kept.
"use strict";

// The first label of the host is the site. The rest, the time and the name of the archive, is the
// same for all sites of one time. The host `web` of that name answers for other sites. Its answers
// have another origin, so the browser itself refuses to let a page read what its site could not.
const WEB = location.protocol + "//web" + location.host.slice(location.host.indexOf("."));

// Whether a URL is the site's own. An address without a scheme (`//host/`) has that of the archive.
const isOfSite = (url) => url.origin === SITE || (SITE.startsWith("https:") && SITE.slice(8) === url.host);

// Destinations whose content a page may load from any site, and never reads.
const LOADED = new Set(["font", "script", "style"]);

// Destinations whose content knows the address that it came from; "" is data for a script.
const ADDRESSED = new Set(["", "script", "sharedworker", "style", "worker"]);

// Responses of these statuses have no body.
const EMPTY = new Set([204, 205, 304]);

// The browser resolves what a style of another site refers to against the address of its response,
// which no script may read and the worker cannot change. So the URL follows in its path:
// `/__weft/get/https/cdn.example/a/b.css`.
const GET = "/__weft/get";
const IN_PATH = /^\/__weft\/get\/(https?)\/([^/]+)(\/.*)$/;

// The URL that a style of another site refers to, by the path or from the root of that site. A page
// may write any path: `null` if it has no URL.
function referred(url, referrer) {
  const direct = IN_PATH.exec(url.pathname);
  const style = direct || (referrer.startsWith(WEB + "/") && IN_PATH.exec(new URL(referrer).pathname));
  if (!style) return url;
  try {
    return new URL(style[1] + "://" + style[2] + (direct ? direct[3] : url.pathname) + url.search);
  } catch {
    return null;
  }
}

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

self.addEventListener("fetch", (event) => {
  const { request } = event;
  const asked = new URL(request.url);
  const url = asked.origin === WEB ? referred(asked, request.referrer) : asked;
  if (!url) {
    // Without a response the browser sends the request itself, and the server would take it for
    // one of this worker.
    event.respondWith(Response.error());
    return;
  }
  const isFrame = request.mode === "navigate";
  // The server leads a separate window to the archive's page around the site.
  if (isFrame && request.destination === "document") return;
  const isHere = url.origin === location.origin;
  if (isHere && url.pathname.startsWith("/__weft/")) {
    if (url === asked && (isFrame || request.destination === "script")) return;
    // Scripts of the page have nothing to ask there.
    event.respondWith(Response.error());
    return;
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") return;
  event.respondWith(answer(request, url, isHere || isOfSite(url)));
});

async function answer(request, url, isOwn) {
  const isFrame = request.mode === "navigate";
  const asked = new URLSearchParams({
    for: request.destination || "fetch",
    url: isOwn ? url.pathname + url.search : url.href.split("#")[0],
  });
  if (!isOwn && LOADED.has(request.destination)) asked.set("loaded", "1");
  // A request whose answer cannot be read may not have these headers.
  const range = request.headers.get("range");
  const type = request.headers.get("content-type");
  if (range) asked.set("range", range);
  if (type) asked.set("type", type);
  const init = {
    method: request.method,
    // The browser follows the redirect of a frame, which may lead to another origin.
    redirect: request.redirect,
    mode: isFrame ? "same-origin" : request.mode,
    credentials: "omit",
    cache: "no-store",
    signal: request.signal,
  };
  if (request.method !== "GET" && request.method !== "HEAD") init.body = await request.arrayBuffer();
  const place = isOwn ? GET : WEB + GET + "/" + url.protocol.slice(0, -1) + "/" + url.host + url.pathname;
  const answered = await fetch(place + "?" + asked, init);
  return ADDRESSED.has(request.destination) ? atItsAddress(answered, init.body) : answered;
}

// Gives a response the address of its request. The browser resolves what a module, a style or a
// worker refers to against the address of the response, and tells it to scripts. A response that is
// made here has none, so the browser takes that of the request. The browser follows a redirect
// again, because that changes the address. It would not repeat a body: such a response has the address
// of its request. A response that no script may read stays as it is.
function atItsAddress(answered, body) {
  if (answered.type !== "basic" && answered.type !== "cors") return answered;
  if (answered.redirected && !body) {
    const target = new URL(answered.url).searchParams.get("url");
    if (target) return Response.redirect(target);
  }
  const { status, statusText, headers } = answered;
  return new Response(EMPTY.has(status) ? null : answered.body, { status, statusText, headers });
}
