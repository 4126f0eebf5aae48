// Guard is a plugin for tape that denies some shell commands whose damage cannot be undone.
//
//	go build -o guard . && tape config plugins '[{"name": "guard", "command": ["./guard"], "required": true}]'
package main

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
)

// dangerous has patterns of commands, where … is any part of one command. Patterns stop slips: they do not see what a
// variable, an alias or a script stands for, a name that is spelt r\m, or other ways, such as find -delete.
var dangerous = regexp.MustCompile(strings.ReplaceAll(`(^|[^-\w])rm\b…\s-(-recursive|\w*[rR])`+
	`|\bgit\b…\s(reset\b…\s--hard|clean\b…\s-(-force|\w*f)|push\b…\s(-(-force|-delete|-mirror|-prune|\w*[fd])|\+))|\bmkfs|\bdd\b…\sof=/dev/|\bsudo\b`, "…", `[^;&|\n]*`))

type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Call struct {
			Tool      string         `json:"tool"`
			Arguments map[string]any `json:"arguments"`
		} `json:"call"`
	} `json:"params"`
}

type object map[string]any

func answer(r request) any {
	switch r.Method {
	case "initialize":
		return object{"name": "guard", "version": "1", "hooks": []object{{"name": "before_tool_call"}}}
	case "hook/before_tool_call":
		command, _ := r.Params.Call.Arguments["cmd"].(string)
		if found := dangerous.FindString(strings.ReplaceAll(command, "\\\n", " ")); r.Params.Call.Tool == "bash" && found != "" {
			return object{"value": object{"action": "deny", "message": "denied: " + strings.TrimSpace(found) + " can do damage that cannot be undone; ask the user to run it"}}
		}
		return object{"value": nil} // no answer: the next plugin is called
	}
	return object{}
}

func main() {
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var r request
		if in.Decode(&r) != nil || r.Method == "exit" {
			return
		}
		if len(r.ID) == 0 {
			continue // a notification, such as $/cancel
		}
		if out.Encode(object{"jsonrpc": "2.0", "id": r.ID, "result": answer(r)}) != nil {
			return
		}
	}
}
