// Reads a conversation ([{time, blocks, reply}]) as JSON on stdin and prints it as one HTML page that looks like Slack.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createElement as h } from "react";
import { renderToStaticMarkup } from "react-dom/server";

const require = createRequire(import.meta.url);
const { Message } = require("slack-blocks-to-jsx");
const style = readFileSync(require.resolve("slack-blocks-to-jsx/dist/style.css"), "utf8");

const ours = `
  body { margin: 0; background: #fff; width: 760px; }
  body, body * { font-family: Lato, "Noto Color Emoji", sans-serif; }
  /* As Slack's own client breaks lines. */
  pre, pre *, code, code * { font-family: "DejaVu Sans Mono", monospace; word-break: normal; overflow-wrap: anywhere; }
  #page { padding: 14px 18px 16px; }
  .reply { margin: 12px 0 0 44px; border-left: 3px solid #e8e8e8; padding-left: 14px; }
`;
const logo =
  "data:image/svg+xml," +
  encodeURIComponent(
    '<svg xmlns="http://www.w3.org/2000/svg" width="36" height="36"><rect width="36" height="36" rx="6" fill="#1d3557"/>' +
      '<path d="M6 19h6l3-9 5 17 4-12 2 4h4" fill="none" stroke="#f1faee" stroke-width="2.4" stroke-linejoin="round"/></svg>',
  );

// The renderer takes `verbatim` for "no mrkdwn"; Slack takes it for "no automatic links".
const messages = JSON.parse(readFileSync(0, "utf8"), (key, value) => (key === "verbatim" ? undefined : value));
const bodies = messages.map(({ time, blocks, reply }) =>
  `<div class="${reply ? "reply" : "root"}">` +
  renderToStaticMarkup(h(Message, { time: new Date(time), name: "responder", logo, blocks, unstyled: false })) +
  "</div>",
);
console.log(
  `<!doctype html><meta charset="utf-8"><style>${style}${ours}</style><div id="page">${bodies.join("")}</div>` +
    `<script>document.title = Math.ceil(document.getElementById("page").getBoundingClientRect().height)</script>`,
);
