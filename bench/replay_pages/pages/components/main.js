import { LitElement, css, html } from "lit";

class TabList extends LitElement {
  static properties = { tabs: { state: true }, shown: { state: true } };
  static styles = css`button { padding: .5rem 1rem } button.on { background: var(--accent); color: white } img { height: 60px } div { padding: 1rem; background: #eee }`;
  constructor() {
    super();
    this.tabs = [];
    this.shown = 0;
  }
  async connectedCallback() {
    super.connectedCallback();
    const { default: tabs } = await import("/tabs.js");
    this.tabs = tabs;
    this.shown = 2;
  }
  render() {
    const tab = this.tabs[this.shown];
    return html`<h2><slot name="title"></slot></h2>
      ${this.tabs.map((each, index) => html`<button class=${index === this.shown ? "on" : ""} @click=${() => { this.shown = index; }}>${each.name}</button>`)}
      ${tab ? html`<div>${tab.text}<br><img src=${`https://tiles.example/3/${this.shown}/4.png`} alt=""></div>` : ""}`;
  }
}
customElements.define("tab-list", TabList);
