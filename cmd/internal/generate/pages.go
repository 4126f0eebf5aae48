package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func pageName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

func longText(c *cobra.Command) string {
	if c.Long != "" {
		return c.Long
	}
	return c.Short + "."
}

// manPage returns a command's page in man macros.
func manPage(c *cobra.Command, pages []*cobra.Command) []byte {
	var b bytes.Buffer
	name := pageName(c)
	fmt.Fprintf(&b, ".TH %s 1 \"\" tape \"tape manual\"\n", roff(strings.ToUpper(name)))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(name), roff(c.Short))
	if c.Runnable() {
		fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n", roff(c.UseLine()))
	}
	b.WriteString(".SH DESCRIPTION\n")
	manText(&b, longText(c))
	manFlags(&b, "OPTIONS", c.NonInheritedFlags())
	if !c.HasParent() {
		b.WriteString(".SH COMMANDS\n")
		for _, p := range pages[1:] {
			if p.Runnable() {
				fmt.Fprintf(&b, ".TP\n.BR %s (1)\n%s\n", roff(pageName(p)), roff(p.Short))
			}
		}
	} else if c.Runnable() {
		manCommands(&b, c)
		manFlags(&b, "GLOBAL OPTIONS", c.InheritedFlags())
	}
	if c.Example != "" {
		fmt.Fprintf(&b, ".SH EXAMPLES\n.nf\n%s\n.fi\n", roff(c.Example))
	}
	b.WriteString(".SH SEE ALSO\n")
	var see []string
	for _, p := range pages {
		if p != c && (!c.HasParent() || p == pages[0] || !p.Runnable()) {
			see = append(see, ".BR "+roff(pageName(p))+" (1)")
		}
	}
	b.WriteString(strings.Join(see, ",\n") + "\n")
	return b.Bytes()
}

// manCommands describes the commands below a command, which have no pages of their own.
func manCommands(b *bytes.Buffer, c *cobra.Command) {
	if len(below(c)) == 0 {
		return
	}
	b.WriteString(".SH COMMANDS\n")
	for _, sub := range below(c) {
		fmt.Fprintf(b, ".SS %s\n", roff(sub.UseLine()))
		manText(b, longText(sub))
		eachFlag(sub.NonInheritedFlags(), func(spec, usage string) { fmt.Fprintf(b, ".TP\n.B %s\n%s\n", roff(spec), roff(usage)) })
		if sub.Example != "" {
			fmt.Fprintf(b, ".PP\n.nf\n%s\n.fi\n", roff(sub.Example))
		}
	}
}

// below lists all commands below a command, each before those below it. It leaves out those of completion, whose
// texts are cobra's.
func below(c *cobra.Command) (out []*cobra.Command) {
	if c.Name() == "completion" {
		return nil
	}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "help" {
			out = append(append(out, sub), below(sub)...)
		}
	}
	return out
}

// manText writes paragraphs in man macros. Indented ones keep their line breaks.
func manText(b *bytes.Buffer, text string) {
	for i, paragraph := range strings.Split(text, "\n\n") {
		if i > 0 {
			b.WriteString(".PP\n")
		}
		if strings.HasPrefix(paragraph, " ") {
			fmt.Fprintf(b, ".nf\n%s\n.fi\n", roff(paragraph))
		} else {
			fmt.Fprintf(b, "%s\n", roff(paragraph))
		}
	}
}

func manFlags(b *bytes.Buffer, title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	fmt.Fprintf(b, ".SH %s\n", title)
	eachFlag(flags, func(spec, usage string) { fmt.Fprintf(b, ".TP\n.B %s\n%s\n", roff(spec), roff(usage)) })
}

func eachFlag(flags *pflag.FlagSet, f func(spec, usage string)) {
	flags.VisitAll(func(flag *pflag.Flag) {
		if flag.Hidden || flag.Name == "help" {
			return
		}
		value, usage := pflag.UnquoteUsage(flag)
		spec := "--" + flag.Name
		if flag.Shorthand != "" {
			spec = "-" + flag.Shorthand + ", " + spec
		}
		if value != "" && flag.Value.Type() != "bool" {
			spec += " " + value
		}
		f(spec, usage)
	})
}

// roff escapes text for the man macros.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(s)
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}

// markdown writes the reference of all commands.
func markdown(root *cobra.Command, pages []*cobra.Command) []byte {
	var b bytes.Buffer
	b.WriteString("# The command line\n\n<!-- Written by make docs from the commands themselves. -->\n\n")
	mdText(&b, longText(root))
	b.WriteString("## Flags of every command\n\n")
	mdFlags(&b, root.NonInheritedFlags())
	for _, group := range root.Groups() {
		fmt.Fprintf(&b, "## %s\n\n", strings.TrimSuffix(group.Title, ":"))
		for _, c := range pages[1:] {
			if c.GroupID == group.ID && c.Runnable() {
				mdCommand(&b, "###", c)
				for _, sub := range below(c) {
					mdCommand(&b, "####", sub)
				}
			}
		}
	}
	for _, c := range pages[1:] {
		if !c.Runnable() {
			fmt.Fprintf(&b, "## %s\n\n```\n%s\n```\n\n", c.Short, c.Long)
		}
	}
	return append(bytes.TrimRight(b.Bytes(), "\n"), '\n')
}

func mdCommand(b *bytes.Buffer, level string, c *cobra.Command) {
	fmt.Fprintf(b, "%s %s\n\n```\n%s\n```\n\n", level, c.CommandPath(), c.UseLine())
	mdText(b, longText(c))
	mdFlags(b, c.NonInheritedFlags())
	if c.Example != "" {
		var lines []string
		for line := range strings.SplitSeq(c.Example, "\n") {
			lines = append(lines, strings.TrimPrefix(line, "  "))
		}
		fmt.Fprintf(b, "```sh\n%s\n```\n\n", strings.Join(lines, "\n"))
	}
}

// mdText writes paragraphs in Markdown. Indented ones become code.
func mdText(b *bytes.Buffer, text string) {
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		if strings.HasPrefix(paragraph, " ") {
			fmt.Fprintf(b, "```\n%s\n```\n\n", paragraph)
		} else {
			fmt.Fprintf(b, "%s\n\n", paragraph)
		}
	}
}

func mdFlags(b *bytes.Buffer, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	wrote := false
	eachFlag(flags, func(spec, usage string) {
		if !wrote {
			b.WriteString("| flag | |\n|---|---|\n")
			wrote = true
		}
		cell := strings.NewReplacer("|", `\|`, "\n", " ").Replace(usage)
		fmt.Fprintf(b, "| `%s` | %s |\n", spec, cell)
	})
	if wrote {
		b.WriteString("\n")
	}
}
