import "./chat.css";
