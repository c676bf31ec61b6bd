import "./context.css";
