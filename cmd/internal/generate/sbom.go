package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
)

// document has the members of an SPDX document that are used here.
type document struct {
	Version       string         `json:"spdxVersion"`
	License       string         `json:"dataLicense"`
	ID            string         `json:"SPDXID"`
	Name          string         `json:"name"`
	Namespace     string         `json:"documentNamespace"`
	Creation      creation       `json:"creationInfo"`
	Packages      []pkg          `json:"packages"`
	Relationships []relationship `json:"relationships"`
}

type creation struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

type pkg struct {
	ID       string      `json:"SPDXID"`
	Name     string      `json:"name"`
	Version  string      `json:"versionInfo"`
	Location string      `json:"downloadLocation"`
	Analyzed bool        `json:"filesAnalyzed"`
	License  string      `json:"licenseDeclared"`
	Refs     []reference `json:"externalRefs,omitempty"`
}

type reference struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

type relationship struct {
	From string `json:"spdxElementId"`
	Type string `json:"relationshipType"`
	To   string `json:"relatedSpdxElement"`
}

// sbom lists the modules that Go programs were built from, as an SPDX 2.3 document in JSON
// (https://spdx.github.io/spdx-spec/v2.3/). created is the date of the document in RFC 3339, so that the same programs give
// the same bytes.
func sbom(name, version, created string, programs []string) error {
	doc, err := describe(name, version, created, programs)
	if err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", "  ")
	return out.Encode(doc)
}

// describe returns one document for programs that are released together.
func describe(name, version, created string, programs []string) (*document, error) {
	modules := map[string]string{} // their versions
	sum := sha256.New()
	for _, path := range programs {
		info, err := buildinfo.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("read the build information of %s: %w", path, err)
		}
		fmt.Fprintln(sum, info)
		modules["stdlib"] = strings.TrimPrefix(info.GoVersion, "go")
		for _, m := range info.Deps {
			if m.Replace != nil {
				m = m.Replace
			}
			modules[m.Path] = m.Version
		}
	}
	main := pkg{ID: "SPDXRef-" + name, Name: name, Version: version, Location: "NOASSERTION", License: "Apache-2.0"}
	doc := &document{Version: "SPDX-2.3", License: "CC0-1.0", ID: "SPDXRef-DOCUMENT", Name: name + " " + version,
		Namespace:     "urn:" + name + ":" + version + ":" + hex.EncodeToString(sum.Sum(nil)[:8]),
		Creation:      creation{Created: created, Creators: []string{"Tool: " + name + "-release"}},
		Packages:      []pkg{main},
		Relationships: []relationship{{"SPDXRef-DOCUMENT", "DESCRIBES", main.ID}}}
	for _, path := range slices.Sorted(maps.Keys(modules)) {
		p := pkg{ID: "SPDXRef-" + notInID.ReplaceAllString(path, "-"), Name: path, Version: modules[path], Location: "NOASSERTION", License: "NOASSERTION",
			Refs: []reference{{"PACKAGE-MANAGER", "purl", "pkg:golang/" + path + "@" + modules[path]}}}
		doc.Packages = append(doc.Packages, p)
		doc.Relationships = append(doc.Relationships, relationship{main.ID, "DEPENDS_ON", p.ID})
	}
	return doc, nil
}

// notInID matches what is not allowed in an identifier.
var notInID = regexp.MustCompile(`[^A-Za-z0-9.-]+`)
