// The part of htm/preact/standalone that this page uses.
export type Node = any;
export function html(strings: TemplateStringsArray, ...values: any[]): Node;
export function h(type: any, props?: any, ...children: any[]): Node;
export function render(node: Node, parent: Element): void;
export function useState<T>(initial: T | (() => T)): [T, (next: T | ((old: T) => T)) => void];
export function useReducer<S, A>(reduce: (state: S, action: A) => S, initial: S): [S, (action: A) => void];
export function useEffect(effect: () => void | (() => void), inputs?: any[]): void;
export function useLayoutEffect(effect: () => void | (() => void), inputs?: any[]): void;
export function useRef<T>(initial: T): { current: T };
export function useMemo<T>(make: () => T, inputs: any[]): T;
export function useCallback<T>(callback: T, inputs: any[]): T;
export function useErrorBoundary(report?: (error: any) => void): [any, () => void];
