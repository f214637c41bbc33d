import { QueryClientProvider } from "@tanstack/react-query";
import { createRoot } from "react-dom/client";
import { App } from "./app.tsx";
import { client } from "./data.ts";
import { loadFonts } from "./fonts.ts";
import { fetchPages } from "./routes.tsx";
import { applyTheme } from "./theme.ts";

applyTheme();
loadFonts();
fetchPages(location.pathname);
const box = document.getElementById("page");
if (box) {
  createRoot(box).render(
    <QueryClientProvider client={client}>
      <App />
    </QueryClientProvider>,
  );
}
