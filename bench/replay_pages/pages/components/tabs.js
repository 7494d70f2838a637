export default ["Spring", "Summer", "Autumn", "Winter"].map((name) => ({ name, text: `What is to be done in ${name.toLowerCase()}.` }));
