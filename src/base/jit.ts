/** How many times as often a function runs as usual before it is compiled. */
const START_SCALE = 20;

/** Compiles little: most code of a start runs once, and compiling it takes a third of the start's processor time. */
export const compileForStart = (): void => Bun.unsafe.setJITPolicy(START_SCALE);

/** Compiles as usual, for what runs from here on. */
export const compileForWork = (): void => Bun.unsafe.setJITPolicy(1);
