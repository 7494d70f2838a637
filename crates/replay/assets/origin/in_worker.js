// Runs first in every worker of a page. The policy of a worker does not cover WebTransport. A worker
// of a blob does not come from the server, so this script is put before its own.
self.weftInWorker = function prepare() {
  delete self.weftInWorker;
  delete self.WebTransport;
  // Scripts of the page may change every function of the browser, so these are saved.
  const { apply, construct, getOwnPropertyDescriptor } = Reflect;
  const source = "(" + prepare + ")();";
  const NativeURL = URL;
  const { createObjectURL } = NativeURL;
  const hrefOf = getOwnPropertyDescriptor(NativeURL.prototype, "href").get;
  const { startsWith } = String.prototype;
  const NativeBlob = Blob;
  const NativeRequest = XMLHttpRequest;
  const { open, send } = NativeRequest.prototype;
  const textOf = getOwnPropertyDescriptor(NativeRequest.prototype, "responseText").get;
  const prepared = (url) => {
    const text = `${url}`;
    let href;
    // A relative address is none of a blob.
    try { href = apply(hrefOf, new NativeURL(text), []); } catch { return text; }
    if (!apply(startsWith, href, ["blob:"])) return text;
    const request = new NativeRequest();
    apply(open, request, ["GET", href, false]);
    apply(send, request, []);
    return createObjectURL(new NativeBlob([source + apply(textOf, request, [])], { type: "text/javascript" }));
  };
  for (const name of ["Worker", "SharedWorker"]) {
    const Native = self[name];
    if (!Native) continue;
    const value = new Proxy(Native, { construct: (target, given, made) => construct(target, [prepared(given[0]), given[1]], made) });
    Object.defineProperty(self, name, { configurable: true, writable: true, value });
    Native.prototype.constructor = value;
  }
};
