import { useEffect, useState } from "react";
import { createRoot } from "react-dom/client";
import { BrowserRouter, Link, Route, Routes, useLocation, useNavigate, useParams } from "react-router-dom";

function Item() {
  const { id } = useParams();
  const [item, setItem] = useState(null);
  useEffect(() => {
    fetch(`/api/items/${id}.json`).then((answer) => answer.json()).then(setItem);
  }, [id]);
  return <div className="card">{item ? <><h2>{item.name}</h2><p>{item.text}</p></> : "Loading the item"}</div>;
}

function Start() {
  const navigate = useNavigate();
  useEffect(() => { navigate("/items/2?from=start#details"); }, []);
  return <p>The start</p>;
}

function Where() {
  const location = useLocation();
  return <p>Path {location.pathname}, query {location.search}, part {location.hash}</p>;
}

createRoot(document.getElementById("root")).render(<BrowserRouter>
  <nav><Link to="/">Start</Link><Link to="/items/1">One</Link><Link to="/items/2">Two</Link></nav>
  <Where />
  <Routes>
    <Route path="/" element={<Start />} />
    <Route path="/items/:id" element={<Item />} />
    <Route path="*" element={<p>There is no such page</p>} />
  </Routes>
</BrowserRouter>);
