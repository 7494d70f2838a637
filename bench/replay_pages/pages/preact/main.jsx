/** @jsxImportSource preact */
import { render } from "preact";
import { useEffect, useReducer } from "preact/hooks";

const play = (cells, [at, who]) => cells.map((cell, index) => (index === at ? who : cell));

function Board() {
  const [cells, put] = useReducer(play, Array(9).fill(""));
  useEffect(() => {
    [[4, "x"], [0, "o"], [2, "x"], [6, "o"], [3, "x"]].forEach((move) => put(move));
    history.replaceState({ moves: 5 }, "", "?moves=5");
  }, []);
  return <div><h1>Board</h1><table><tbody>{[0, 3, 6].map((row) => <tr>{[0, 1, 2].map((column) => <td>{cells[row + column]}</td>)}</tr>)}</tbody></table>
    <p>{cells.filter(Boolean).length} moves</p></div>;
}
render(<Board />, document.getElementById("app"));
