import { Maximize, Minimize } from "lucide-react";
import { useSyncExternalStore } from "react";
import { t } from "../../texts/text.ts";
import { IconButton } from "../base/button.tsx";
import { notify } from "../base/toast.tsx";

const watch = (watcher: () => void) => {
  document.addEventListener("fullscreenchange", watcher);
  return () => document.removeEventListener("fullscreenchange", watcher);
};

/** Shows the content without navigation and browser, for example on a wall display. */
export function FullScreenButton() {
  const isFull = useSyncExternalStore(watch, () => document.fullscreenElement !== null);
  const toggle = () => {
    const change = isFull ? document.exitFullscreen() : document.querySelector("main")?.requestFullscreen();
    change?.catch((error: Error) =>
      notify(t("Couldn't change full screen: {reason}", { reason: error.message }), "bad"),
    );
  };
  return (
    <IconButton
      icon={isFull ? Minimize : Maximize}
      label={isFull ? t("Exit full screen") : t("Full screen")}
      onClick={toggle}
    />
  );
}
