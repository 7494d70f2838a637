// Two conveniences; every page can be read without them.
'use strict';

// A button in the header changes between the light and the dark theme.
const root = document.documentElement;
const button = document.createElement('button');
const show = (dark) => {
  root.classList.toggle('dark', dark);
  button.textContent = dark ? 'Light theme' : 'Dark theme';
};
const wanted = () => {
  // Storage can be forbidden, for example in a sandboxed frame.
  try { return localStorage.getItem('theme') === 'dark'; } catch { return false; }
};
button.type = 'button';
button.addEventListener('click', () => {
  const dark = !root.classList.contains('dark');
  show(dark);
  try { localStorage.setItem('theme', dark ? 'dark' : 'light'); } catch { /* The choice holds for this page. */ }
});
show(wanted());
document.querySelector('header')?.append(button);

// A field above the table of contents shows only the pages whose title has the typed text.
const contents = document.querySelector('#contents');
if (contents) {
  const field = document.createElement('input');
  field.type = 'search';
  field.className = 'filter';
  field.placeholder = 'Show pages with …';
  field.setAttribute('aria-label', 'Show pages with this text');
  field.addEventListener('input', () => {
    const text = field.value.trim().toLowerCase();
    for (const part of contents.children) {
      const pages = [...part.querySelectorAll('li')];
      for (const page of pages) page.hidden = !page.textContent.toLowerCase().includes(text);
      part.hidden = pages.every((page) => page.hidden);
    }
  });
  contents.before(field);
}
