package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"tape/internal/agent/tools"
	"tape/internal/git/disk"
)

// The limits of a skill's name and description, and of its file.
const (
	longestSkillName        = 64
	longestSkillDescription = 1024
	largestSkill            = 1 << 20
)

// Skills lists the skills in a project and in a user's home, .agents/skills/NAME/SKILL.md, sorted by name. If
// both have a skill of the same name, the project's counts. In the text, ${SKILL_DIR} stands for the skill's
// folder. A SKILL.md counts only if it has a description and its name is the folder's.
func Skills(project, home string) []tools.Skill {
	var out []tools.Skill
	for _, root := range []string{project, home} {
		if root == "" {
			continue
		}
		for _, file := range disk.Glob(root, ".agents/skills/*/SKILL.md") {
			s, ok := readSkill(file)
			if ok && !slices.ContainsFunc(out, func(o tools.Skill) bool { return o.Name == s.Name }) {
				out = append(out, s)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b tools.Skill) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func readSkill(file string) (tools.Skill, bool) {
	head, _, err := skillParts(file)
	s := tools.Skill{Name: head["name"], Description: head["description"], Location: file}
	s.Body = func() (string, error) {
		_, body, err := skillParts(file)
		return strings.ReplaceAll(body, "${SKILL_DIR}", filepath.Dir(file)), err
	}
	return s, err == nil && s.Name == filepath.Base(filepath.Dir(file)) && len(s.Name) <= longestSkillName &&
		s.Description != "" && len(s.Description) <= longestSkillDescription
}

// skillParts reads a skill's front matter and the text after it.
func skillParts(file string) (head map[string]string, body string, err error) {
	st, err := os.Stat(file)
	if err != nil {
		return nil, "", err
	}
	if !st.Mode().IsRegular() || st.Size() > largestSkill {
		return nil, "", fmt.Errorf("%s is not a file of at most %d bytes", file, largestSkill)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, "", err
	}
	lines := strings.Split(strings.ReplaceAll(string(raw), "\r\n", "\n"), "\n")
	if strings.TrimSpace(lines[0]) == "---" {
		if end := slices.Index(lines[1:], "---"); end >= 0 {
			return frontMatter(lines[1 : end+1]), strings.TrimSpace(strings.Join(lines[end+2:], "\n")), nil
		}
	}
	return nil, strings.TrimSpace(string(raw)), nil
}

// frontMatter reads the part of YAML that skills use: "key: value", quoted or not, and values that
// continue on indented lines.
func frontMatter(lines []string) map[string]string {
	out, last := map[string]string{}, ""
	for _, line := range lines {
		if rest := strings.TrimSpace(line); line != rest && last != "" && line[0] <= ' ' {
			out[last] = strings.TrimSpace(out[last] + " " + rest)
			continue
		}
		key, value, found := strings.Cut(line, ":")
		if last = strings.ToLower(strings.TrimSpace(key)); !found {
			last = ""
			continue
		}
		value = strings.TrimSpace(value)
		if n := len(value); n > 1 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
			value = value[1 : n-1]
		}
		out[last] = strings.TrimLeft(value, ">|-")
	}
	return out
}

// withSkills appends the texts of the skills that a prompt names as $NAME.
func withSkills(text string, skills []tools.Skill) string {
	if !strings.Contains(text, "$") {
		return text
	}
	out, seen := text, map[string]bool{}
	for _, m := range regexp.MustCompile(`\$([A-Za-z0-9_.-]+)`).FindAllStringSubmatch(text, -1) {
		name := strings.ToLower(strings.TrimRight(m[1], ".-"))
		i := slices.IndexFunc(skills, func(s tools.Skill) bool { return strings.EqualFold(s.Name, name) })
		if i < 0 || seen[name] {
			continue
		}
		seen[name] = true
		if body, err := skills[i].Body(); err == nil {
			out += fmt.Sprintf("\n\n<skill name=%q location=%q>\n%s\n</skill>", skills[i].Name, skills[i].Location, body)
		}
	}
	return out
}

// skillsPrompt lists the skills for the model.
func skillsPrompt(skills []tools.Skill) string {
	if len(skills) == 0 {
		return ""
	}
	var out strings.Builder
	out.WriteString("<available_skills>\n")
	for _, s := range skills {
		fmt.Fprintf(&out, "- %s: %s\n", s.Name, s.Description)
	}
	out.WriteString("</available_skills>")
	return out.String()
}
