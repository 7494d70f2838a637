export default function Later() {
  return <footer>This part arrived later, as a chunk of its own.</footer>;
}
