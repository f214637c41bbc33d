import { QueryClientProvider } from "@tanstack/react-query";
import { createRoot } from "react-dom/client";
import { App } from "./app.tsx";
import { base } from "./base.ts";
import { client } from "./data.ts";
import { loadFonts } from "./fonts.ts";
import { fetchPages } from "./routes.tsx";
import { loadTexts } from "./texts/text.ts";
import { applyTheme } from "./theme.ts";

applyTheme();
loadFonts();
const isBelow = `${location.pathname}/`.startsWith(`${base}/`);
// opened without the proxy, for example on the machine itself: redirects below the base path
if (!isBelow) location.replace(base + location.pathname + location.search);
const box = document.getElementById("page");
if (box && isBelow) void draw(box);

async function draw(page: HTMLElement) {
  await loadTexts(); // before any page is evaluated
  fetchPages(location.pathname.slice(base.length) || "/");
  createRoot(page).render(
    <QueryClientProvider client={client}>
      <App />
    </QueryClientProvider>,
  );
}
