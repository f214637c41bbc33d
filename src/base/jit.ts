/** Factor by which a function must run more often than usual before it is compiled. */
const START_SCALE = 20;

/** Compiles less: most startup code runs once, and compiling it takes a third of the CPU time of a start. */
export const compileForStart = (): void => Bun.unsafe.setJITPolicy(START_SCALE);

/** Compiles as usual from now on. */
export const compileForWork = (): void => Bun.unsafe.setJITPolicy(1);
