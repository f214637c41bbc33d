import { createContext } from "react";

/** True in forms whose values are sent as shown: no templates are filled in. */
export const IsAnswer = createContext(false);

/** Keys of a field in the request's body. */
export const FieldPath = createContext<readonly string[]>([]);

/** True in forms whose receiver adds defaults. They are shown as placeholders. */
export const AddsDefaults = createContext(true);
