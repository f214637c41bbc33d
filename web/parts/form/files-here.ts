import { createContext } from "react";

/** The ID of the connection whose files a field names: that of its group, else the step's; empty without one. */
export const FilesHere = createContext("");
