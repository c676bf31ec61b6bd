"""Asks one question: python3 client.py "where is main?" [agent-lsp serve]"""
import json, os, subprocess, sys

server = subprocess.Popen(sys.argv[2:] or ["agent-lsp", "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

def send(message):
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    server.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    server.stdin.flush()

def receive():
    length = 0
    while line := server.stdout.readline().strip():
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    return json.loads(server.stdout.read(length)) if length else sys.exit("the server is gone")

def call(number, method, params, seen=lambda message: None):
    send({"id": number, "method": method, "params": params})
    while True:
        message = receive()
        if message.get("id") == number and "method" not in message:
            return message.get("result") or sys.exit(message.get("error", {}).get("message", 0))
        seen(message)

early, question = [], sys.argv[1]
call(1, "initialize", {"processId": os.getpid(), "rootUri": "file://" + os.getcwd(), "capabilities": {},
     "initializationOptions": {"agentLsp": {"client": "python", "protocolVersion": 1}}})
send({"method": "initialized", "params": {}})
turn = call(2, "agent/submit", {"input": question, "source": "python", "edits": "hold"}, early.append)
while True:
    message = early.pop(0) if early else receive()
    if message.get("method") == "agent/stream" and message["params"]["turnId"] == turn["turnId"]:
        chunk = message["params"]
        print(chunk["content"], file=sys.stdout if chunk["type"] == "result" else sys.stderr, flush=True)
        if chunk["isComplete"] and chunk["type"] in ("result", "error"):
            break
send({"id": 3, "method": "shutdown"})
send({"method": "exit"})
sys.exit(server.wait())
