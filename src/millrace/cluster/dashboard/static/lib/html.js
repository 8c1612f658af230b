// Templates, state and effects in one import.
import { Fragment, createContext, h, render } from "./preact.js";
import { useCallback, useContext, useEffect, useLayoutEffect, useMemo, useRef, useState } from "./hooks.js";
import htm from "./htm.js";

const html = htm.bind(h);

export {
  Fragment, createContext, h, html, render,
  useCallback, useContext, useEffect, useLayoutEffect, useMemo, useRef, useState,
};
