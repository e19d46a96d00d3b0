package examples

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"weft/internal/require"
)

// The pipelines for GitLab are what GitLab's own schema of .gitlab-ci.yml takes, which
// refuses those with a word that it does not know, or a value.
func TestGitLabSchema(t *testing.T) {
	text, err := os.ReadFile("../bin/gitlab-ci.schema.json")
	if err != nil {
		require.Missing(t, require.GitLab, "make deps brings GitLab's schema: %v", err)
	}
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("gitlab.json", parsed); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("gitlab.json")
	if err != nil {
		t.Fatal(err)
	}
	judge := func(text []byte) error {
		var pipeline any
		if err := yaml.Unmarshal(text, &pipeline); err != nil {
			t.Fatal(err)
		}
		return schema.Validate(pipeline)
	}
	for _, file := range []string{"../.gitlab-ci.yml", "ci/gitlab/.gitlab-ci.yml"} {
		text, err := os.ReadFile(filepath.FromSlash(file))
		if err != nil {
			t.Fatal(err)
		}
		if err := judge(text); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
	recipe, err := os.ReadFile(filepath.FromSlash("ci/gitlab/.gitlab-ci.yml"))
	if err != nil {
		t.Fatal(err)
	}
	for good, bad := range map[string]string{"resource_group: fabric": "resource_grp: fabric", "action: access": "action: look", "access: developer": "access: guest", "  script:": "  scripts:"} {
		wrong := bytes.Replace(recipe, []byte(good), []byte(bad), 1)
		if bytes.Equal(wrong, recipe) {
			t.Fatalf("the recipe has no %q", good)
		}
		if judge(wrong) == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}
