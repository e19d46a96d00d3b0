"""Drives one switch with netmiko as operators do; prints what it saw as JSON.

Reads {"device": {...}, "shows": [...], "config": [...], "wrong": "...",
"short": "...", "long": "...", "more": "..."} from stdin.
"""
import json
import re
import sys

from netmiko import BaseConnection, ConnectHandler
from netmiko.ssh_exception import NetMikoAuthenticationException


def page(conn, short, line, more):
    """Reads a long output screen by screen, as a person does."""
    conn.send_command(short)
    end = re.escape(more) + "|" + re.escape(conn.find_prompt())
    text = conn.send_command(line, expect_string=end, strip_prompt=False)
    screens = 1
    while text.rstrip().endswith(more):
        screens += 1
        text = text.rstrip()[: -len(more)]
        conn.write_channel(" ")
        text += conn.read_until_pattern(end)
    return {"screens": screens, "text": text}


def know_modes_by_prompts(conn):
    """Older netmiko waits for seconds of silence on a Comware, each time that it
    asks for the mode. Like newer ones it reads as far as the prompt instead."""

    def check(check_string="]", pattern=r"[>\]]"):
        return BaseConnection.check_config_mode(conn, check_string, pattern)

    conn.check_config_mode = check


def main():
    ask = json.load(sys.stdin)
    saw = {}
    try:
        ConnectHandler(**dict(ask["device"], password="not the password"))
        saw["wrong_password"] = "accepted"
    except NetMikoAuthenticationException:
        saw["wrong_password"] = "refused"
    conn = ConnectHandler(**ask["device"])
    if ask["device"]["device_type"] == "hp_comware":
        know_modes_by_prompts(conn)
    saw["prompt"] = conn.find_prompt()
    saw["shows"] = {line: conn.send_command(line) for line in ask["shows"]}
    saw["config"] = conn.send_config_set(ask["config"])
    saw["in_config_mode_after"] = conn.check_config_mode()
    conn.config_mode()
    saw["in_config_mode"] = conn.check_config_mode()
    saw["refusal"] = conn.send_command(ask["wrong"], expect_string=r"(?s)(marker|position).*[#\]]")
    conn.exit_config_mode()
    saw["saved"] = conn.save_config()
    if conn.check_config_mode():  # netmiko saves a Comware from its system view
        conn.exit_config_mode()
    saw["paged"] = page(conn, ask["short"], ask["long"], ask["more"])
    conn.disconnect()
    json.dump(saw, sys.stdout)


main()
