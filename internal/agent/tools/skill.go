package tools

import (
	"context"
	"fmt"
	"strings"

	"tape/hooks"
)

// Skill is a text that explains how to do something.
type Skill struct {
	Name, Description string
	Location          string // its file
	Body              func() (string, error)
}

type skillArgs struct {
	Name string `json:"name"`
}

// skillTools has the tool that returns a skill's text, or lists the skills.
func skillTools(o Options) []hooks.Tool {
	if o.Skills == nil {
		return nil
	}
	return []hooks.Tool{define("skill", "Load a skill: a text that says how something is done. Without name, list them.",
		`"name":{"type":"string"}`, nil, func(ctx context.Context, c hooks.ToolContext, a skillArgs) (string, error) {
			all, err := o.Skills(ctx, c)
			if err != nil {
				return "", err
			}
			var list strings.Builder
			for _, skill := range all {
				if strings.EqualFold(skill.Name, a.Name) {
					body, err := skill.Body()
					return fmt.Sprintf("Location: %s\n---\n%s", skill.Location, body), err
				}
				fmt.Fprintf(&list, "- %s: %s\n", skill.Name, clip(skill.Description, 1000))
			}
			switch {
			case len(all) == 0:
				return "(there are no skills)", nil
			case a.Name != "":
				return "", fmt.Errorf("there is no skill %q; there are:\n%s", clip(a.Name, 100), list.String())
			}
			return list.String(), nil
		})}
}
