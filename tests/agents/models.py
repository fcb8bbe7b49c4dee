#!/usr/bin/env python3
"""A stand-in for the model APIs that agent programs talk to, on loopback only.

    models.py COMMAND [ARGUMENT...]

Brings loopback up where it may, serves on a free port, runs the command and exits with its code. `{PORT}` in its environment
and in the files that MODELS_FILES names is replaced first. Every request is answered with one text: `heard` and, in
order, each `marker-N` that stands in the request, so that an answer tells what has reached the model.

Spoken are, streaming and not: Anthropic messages, OpenAI responses and chat completions, Gemini generateContent.
"""
import fcntl
import gzip
import json
import os
import re
import socket
import struct
import subprocess
import sys
import threading
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def loopback_up():
    """In a network namespace of its own loopback is down; elsewhere this changes nothing."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        try:
            fcntl.ioctl(s, 0x8914, struct.pack("16sH14x", b"lo", 0x1 | 0x40))  # SIOCSIFFLAGS, IFF_UP | IFF_RUNNING
        except OSError:
            pass


def anthropic(model, text):
    usage = {"input_tokens": 10, "output_tokens": 10, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    whole = {"id": "msg_" + uuid.uuid4().hex[:24], "type": "message", "role": "assistant", "model": model,
             "content": [{"type": "text", "text": text}], "stop_reason": "end_turn", "stop_sequence": None, "usage": usage}
    events = [
        ("message_start", {"message": {**whole, "content": [], "stop_reason": None}}),
        ("content_block_start", {"index": 0, "content_block": {"type": "text", "text": ""}}),
        ("content_block_delta", {"index": 0, "delta": {"type": "text_delta", "text": text}}),
        ("content_block_stop", {"index": 0}),
        ("message_delta", {"delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": usage}),
        ("message_stop", {}),
    ]
    return whole, [(name, {"type": name, **data}) for name, data in events]


def responses(model, text):
    item = {"type": "message", "id": "msg_" + uuid.uuid4().hex, "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": text, "annotations": []}]}
    usage = {"input_tokens": 10, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 10,
             "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 20}
    whole = {"id": "resp_" + uuid.uuid4().hex, "object": "response", "created_at": int(time.time()),
             "status": "completed", "model": model, "output": [item], "usage": usage}
    events = [
        ("response.created", {"response": {**whole, "status": "in_progress", "output": [], "usage": None}}),
        ("response.output_item.added", {"output_index": 0, "item": item}),
        ("response.output_text.delta", {"output_index": 0, "content_index": 0, "item_id": item["id"], "delta": text}),
        ("response.output_item.done", {"output_index": 0, "item": item}),
        ("response.completed", {"response": whole}),
    ]
    return whole, [(name, {"type": name, **data}) for name, data in events]


def chat(model, text):
    usage = {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}
    base = {"id": "chatcmpl-" + uuid.uuid4().hex, "created": int(time.time()), "model": model}
    message = {"role": "assistant", "content": text}
    whole = {**base, "object": "chat.completion", "usage": usage,
             "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}

    def chunk(delta, reason):
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        return None, {**base, "object": "chat.completion.chunk", "choices": [choice], "usage": usage if reason else None}
    return whole, [chunk(message, None), chunk({}, "stop"), (None, None)]


def gemini(_model, text):
    whole = {"candidates": [{"index": 0, "content": {"role": "model", "parts": [{"text": text}]}, "finishReason": "STOP"}],
             "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 10, "totalTokenCount": 20},
             "modelVersion": "mock", "responseId": uuid.uuid4().hex}
    return whole, [(None, whole)]


APIS = {"/messages": anthropic, "/responses": responses, "/chat/completions": chat,
        ":generateContent": gemini, ":streamGenerateContent": gemini}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def reply(self, value, status=200):
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def stream(self, events):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for name, data in events:
            head = "event: %s\n" % name if name else ""
            payload = "[DONE]" if data is None else json.dumps(data)
            self.wfile.write(("%sdata: %s\n\n" % (head, payload)).encode())
        self.close_connection = True

    def body(self):
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            raw = b""
            while size := int(self.rfile.readline().split(b";")[0], 16):
                raw += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        return gzip.decompress(raw) if self.headers.get("Content-Encoding") == "gzip" else raw

    def do_GET(self):
        self.reply({"object": "list", "data": [], "models": []})

    def do_POST(self):
        path, raw = self.path.split("?")[0], self.body()
        if path.endswith(("/count_tokens", ":countTokens")):
            return self.reply({"input_tokens": 10, "totalTokens": 10})
        api = next((api for end, api in APIS.items() if path.endswith(end)), None)
        if api is None:
            return self.reply({}, 404)
        request = json.loads(raw or b"{}")
        heard = sorted(set(re.findall(r"marker-\d", raw.decode("utf-8", "replace"))))
        whole, events = api(request.get("model", "mock"), " ".join(["heard", *heard]))
        if request.get("stream") or "streamGenerateContent" in path:
            return self.stream(events)
        return self.reply(whole)


def main():
    loopback_up()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    port = str(server.server_port)
    for file in filter(None, os.environ.pop("MODELS_FILES", "").split(":")):
        with open(file, encoding="utf-8") as f:
            text = f.read()
        with open(file, "w", encoding="utf-8") as f:
            f.write(text.replace("{PORT}", port))
    environment = {key: value.replace("{PORT}", port) for key, value in os.environ.items()}
    sys.exit(subprocess.run(sys.argv[1:], env=environment).returncode)


main()
