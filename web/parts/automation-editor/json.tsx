import { useState } from "react";
import { t } from "../../texts/text.ts";
import { readJson } from "../base/read-json.ts";
import { Code } from "../editor/code.tsx";
import type { Values } from "../form/form.tsx";

interface Props {
  config: Values;
  mayChange: boolean;
  /** False if the canvas can't show it. */
  canDraw: boolean;
  onChange: (config: Values) => void;
}

/** The whole config as JSON. Invalid text isn't applied yet. */
export default function ConfigJson({ config, mayChange, canDraw, onChange }: Props) {
  const [typed, setTyped] = useState<string | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const read = (text: string) => {
    if (!mayChange) return;
    setTyped(text);
    try {
      const value: unknown = readJson(text, ["config"]);
      if (typeof value !== "object" || value === null || Array.isArray(value))
        return setProblem(t("The config must be an object."));
      setProblem(null);
      onChange(value as Values);
    } catch (error) {
      setProblem(error instanceof Error ? error.message : t("This isn't JSON."));
    }
  };
  return (
    <div className="h-full overflow-y-auto p-4">
      {!canDraw && (
        <p className="mb-3 text-sm text-soft">{t("The canvas can't show these steps. Edit them as JSON.")}</p>
      )}
      <Code
        language="json"
        label={t("Configuration")}
        value={typed ?? JSON.stringify(config, null, 2)}
        onChange={read}
        minHeight={300}
        isInvalid={problem !== null}
      />
      {problem && (
        <p role="alert" data-problem className="mt-1 text-xs text-bad">
          {problem}
        </p>
      )}
    </div>
  );
}
