const KEPT = ["/", "/notes.json"];
self.addEventListener("install", (event) => event.waitUntil(caches.open("v1").then((cache) => cache.addAll(KEPT)).then(() => self.skipWaiting())));
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));
self.addEventListener("fetch", (event) => event.respondWith(caches.match(event.request).then((kept) => kept || fetch(event.request))));
