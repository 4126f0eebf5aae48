package about

import (
	"slices"
	"strings"
	"unicode"
)

// localCommands are commands that the programs run themselves, in alphabetical order: the model does not see them.
var localCommands = []string{
	"about", "add-dir", "advisor", "agents", "approvals", "auth", "background", "bashes", "brief", "btw", "bug", "chat", "checkpoint",
	"chrome", "clear", "color", "commands", "compact", "compress", "config", "context", "copy", "corgi", "cost", "cwd", "desktop", "diff",
	"directory", "docs", "doctor", "editor", "effort", "exit", "export", "extensions", "extra-usage", "fast", "feedback", "focus", "fork",
	"heapdump", "help", "hooks", "ide", "install-github-app", "keybindings", "login", "logout", "mcp", "memory", "migrate-installer",
	"mobile", "mode", "model", "models", "new", "output-style", "passes", "permissions", "plugin", "powerup", "privacy", "privacy-settings",
	"ps", "quit", "rate-limit-options", "recap", "redo", "release-notes", "reload-plugins", "reload-skills", "remote-control", "remote-env",
	"rename", "reset", "restore", "resume", "rewind", "rollout", "sandbox", "session", "sessions", "settings", "share", "skills", "stats",
	"status", "statusline", "stickers", "tasks", "teleport", "terminal-setup", "theme", "themes", "todos", "tools", "tui", "undo", "upgrade",
	"usage", "vim", "voice", "web-setup",
}

// isSlashCommand reports whether a text is a command for the program, such as /review the branch.
func isSlashCommand(text string) bool { return slashCommand(text) != "" }

// slashCommand returns the name of the command that a text is, without the slash; "" if the text is no command.
func slashCommand(text string) string {
	word, ok := strings.CutPrefix(text, "/")
	if end := strings.IndexFunc(word, unicode.IsSpace); end >= 0 {
		word = word[:end]
	}
	rest := strings.TrimLeft(word, letters)
	if !ok || rest == word || strings.Trim(rest, letters+"0123456789_:-") != "" {
		return ""
	}
	return word
}

// isLocal reports whether a program runs the command with a name itself.
func isLocal(name string) bool {
	_, found := slices.BinarySearch(localCommands, strings.ToLower(name))
	return found
}

// SentCommand returns the command that a text in the tags of Claude Code is, such as "/deploy staging", if the program
// expanded it for the model. It is "" for commands that the program ran itself, and for any other text. The tags of an
// expanded command begin with its message, those of others with its name (anthropics/claude-code#95829, transcripts of
// d-kimuson/claude-code-viewer).
func SentCommand(text string) string {
	if !strings.HasPrefix(text, "<command-message>") {
		return ""
	}
	name := "/" + strings.TrimPrefix(inTag(text, "command-name"), "/")
	if args := inTag(text, "command-args"); args != "" {
		name += " " + args
	}
	if word := slashCommand(name); word == "" || isLocal(word) {
		return ""
	}
	return name
}

// inTag returns the text between a tag and its end, "" if there is no such tag.
func inTag(text, tag string) string {
	_, rest, _ := strings.Cut(text, "<"+tag+">")
	inner, _, closed := strings.Cut(rest, "</"+tag+">")
	if !closed {
		return ""
	}
	return strings.TrimSpace(inner)
}
