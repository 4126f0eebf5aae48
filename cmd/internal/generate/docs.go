package main

import (
	"bytes"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"tape/cmd/internal/cli"
	"tape/cmd/internal/stdio"
)

// docs writes man/, completions/ and cli.md into a folder, all from the commands themselves. The same commands give the same
// bytes.
func docs(dir string) error {
	root := cli.Root(&cli.App{Streams: stdio.Streams{Stdout: os.Stdout, Stderr: os.Stderr, Now: time.Now, Getenv: func(string) string { return "" }}})
	root.InitDefaultHelpCmd()
	files := map[string][]byte{}
	if err := completions(root, files); err != nil {
		return err
	}
	pages := documented(root)
	for _, c := range pages {
		files[filepath.Join("man", pageName(c)+".1")] = manPage(c, pages)
	}
	files["cli.md"] = markdown(root, pages)
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func completions(root *cobra.Command, files map[string][]byte) error {
	for name, gen := range map[string]func(*bytes.Buffer) error{
		"tape.bash": func(b *bytes.Buffer) error { return cli.WriteBashCompletion(root, b, true) },
		"_tape":     func(b *bytes.Buffer) error { return root.GenZshCompletion(b) },
		"tape.fish": func(b *bytes.Buffer) error { return root.GenFishCompletion(b, true) },
		"tape.ps1":  func(b *bytes.Buffer) error { return root.GenPowerShellCompletionWithDesc(b) },
	} {
		var b bytes.Buffer
		if err := gen(&b); err != nil {
			return err
		}
		files[filepath.Join("completions", name)] = b.Bytes()
	}
	return nil
}

// documented lists the commands that get a page: the root, its commands in the order
// of their names, and the topics of the help.
func documented(root *cobra.Command) []*cobra.Command {
	out := []*cobra.Command{root}
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() && c.Name() != "help" || c.IsAdditionalHelpTopicCommand() {
			out = append(out, c)
		}
	}
	return out
}
