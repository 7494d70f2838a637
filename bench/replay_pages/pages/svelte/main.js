import { mount } from "svelte";
import Tides from "./Tides.svelte";

mount(Tides, { target: document.getElementById("app"), props: { harbour: "Westhaven" } });
