import { Split } from "lucide-react";
import { Button } from "../base/button.tsx";
import { Dialog } from "../base/dialog.tsx";

interface Props {
  /** The step that decides, and the ways it may go. */
  decides: string;
  branches: readonly string[];
  /** What the new step is to hang on. */
  onChoose: (dependency: string) => void;
  onClose: () => void;
}

/** Asks on which branch of the step before it a new one goes on. */
export function WhichBranch({ decides, branches, onChoose, onClose }: Props) {
  return (
    <Dialog title={`Run after which branch of ${decides}?`} onClose={onClose}>
      <p className="mb-3 text-soft">The new step runs if this branch is taken. Otherwise, it is skipped.</p>
      <ul className="space-y-2">
        {branches.map((branch) => (
          <li key={branch}>
            <Button
              icon={Split}
              className="w-full justify-start"
              onClick={() => onChoose(`${decides}:${branch}`)}
            >
              <span className="truncate">{branch}</span>
            </Button>
          </li>
        ))}
        <li>
          <Button kind="quiet" className="w-full justify-start" onClick={() => onChoose(decides)}>
            Any branch
          </Button>
        </li>
      </ul>
    </Dialog>
  );
}
