import { Suspense, lazy, useEffect, useState } from "react";
import { createRoot } from "react-dom/client";

const Later = lazy(() => import("./later.jsx"));

function Orchard() {
  const [trees, setTrees] = useState([]);
  const [done, setDone] = useState([]);
  useEffect(() => {
    fetch("https://api.example/items?page=1").then((answer) => answer.json()).then(({ items }) => {
      setTrees(items);
      setDone([items[1].id]);
    });
  }, []);
  return <main>
    <h1>Orchard</h1>
    <ul>{trees.map((tree) => <li key={tree.id} className={done.includes(tree.id) ? "done" : ""}>{tree.name}</li>)}</ul>
    <p>{trees.length} trees, {done.length} picked</p>
    <Suspense fallback="..."><Later /></Suspense>
  </main>;
}
createRoot(document.getElementById("root")).render(<Orchard />);
