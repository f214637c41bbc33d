import { Later, part } from "../base/later.tsx";
import type { ValueProps } from "./value-views.tsx";

const views = part(() => import("./value-views.tsx"));

/** A value to view and insert from. Its code is loaded with the first step that has one. */
export const Values = (props: ValueProps) => <Later of={views} props={props} waiting={null} />;
