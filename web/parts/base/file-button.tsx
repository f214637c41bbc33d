import { Download, Square } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { fetchFile } from "../../api.ts";
import type { Call, CallInput } from "../../calls.ts";
import { t } from "../../texts/text.ts";
import { Button } from "./button.tsx";
import { download } from "./download.ts";
import { notify } from "./toast.tsx";

interface Props<K extends Call> {
  call: K;
  input: CallInput<K>;
  /** Filename. */
  name: string;
  verb: string;
}

/** Downloads a response as a file. */
export function FileButton<K extends Call>({ call, input, name, verb }: Props<K>) {
  const [isBusy, setBusy] = useState(false);
  const stop = useRef<AbortController>(null);
  useEffect(() => () => stop.current?.abort(), []);
  const take = async () => {
    const control = new AbortController();
    stop.current = control;
    setBusy(true);
    try {
      download(name, await fetchFile(call, input, control.signal));
    } catch (error) {
      if (!control.signal.aborted)
        notify(error instanceof Error ? error.message : t("The download failed."), "bad");
    }
    setBusy(false);
  };
  return isBusy ? (
    <Button icon={Square} onClick={() => stop.current?.abort()}>
      {t("Cancel download")}
    </Button>
  ) : (
    <Button icon={Download} onClick={take}>
      {verb}
    </Button>
  );
}
