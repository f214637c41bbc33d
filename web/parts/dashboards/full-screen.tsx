import { Maximize } from "lucide-react";
import { IconButton } from "../base/button.tsx";
import { notify } from "../base/toast.tsx";

/** Shows what the page holds without navigation and browser, as on a wall. */
export function FullScreenButton() {
  const open = () => {
    const main = document.querySelector("main");
    main
      ?.requestFullscreen()
      .catch((error: Error) => notify(`Couldn't open full screen: ${error.message}`, "bad"));
  };
  return <IconButton icon={Maximize} label="Full screen" onClick={open} />;
}
