import { createContext } from "react";

/** True in forms whose values are sent as shown: the API adds no defaults to them, and fills in no templates. */
export const IsAnswer = createContext(false);
