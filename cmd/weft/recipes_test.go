package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"
)

// pipeline is what a forge does with a recipe of examples/ci: it runs the steps of one
// job as they stand in a fresh clone of $ORIGIN at $REF. ci FILE JOB. The devices are
// SIMULATED: weft is called with --lab, and knows the lab of $LAB.
func pipeline() {
	if err := runJob(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "ci: %v\n", err)
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			os.Exit(exit.ExitCode())
		}
		os.Exit(99)
	}
}

// A recipeJob are the steps of a job, each a text for a shell.
type recipeJob struct {
	shell []string
	env   map[string]string
	steps []string
}

func runJob(args []string) error {
	if len(args) != 2 {
		return errors.New("usage: ci FILE JOB")
	}
	job, err := readJob(args[0], args[1])
	if err != nil {
		return err
	}
	if len(job.steps) == 0 {
		return fmt.Errorf("%s has no job %s with steps", args[0], args[1])
	}
	work, err := os.MkdirTemp(os.Getenv("WORK"), "runner-")
	if err != nil {
		return err
	}
	clone, bin := filepath.Join(work, "clone"), filepath.Join(work, "bin")
	git := exec.Command("git", "clone", "-q", "--branch", os.Getenv("REF"), os.Getenv("ORIGIN"), clone)
	git.Stderr = os.Stderr
	if err := git.Run(); err != nil {
		return fmt.Errorf("clone: %w", err)
	}
	weft, err := exec.LookPath("weft")
	if err != nil {
		return err
	}
	wrapper := fmt.Sprintf("#!/bin/sh\nmkdir -p .weft && ln -sfn %q .weft/lab && exec %q --lab \"$@\"\n", filepath.Join(os.Getenv("LAB"), ".weft", "lab"), weft)
	if err := errors.Join(os.MkdirAll(bin, 0o755), os.WriteFile(filepath.Join(bin, "weft"), []byte(wrapper), 0o755)); err != nil {
		return err
	}
	env := append(os.Environ(), "PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH"), "GITHUB_STEP_SUMMARY="+filepath.Join(work, "summary"))
	for name, value := range job.env {
		if !strings.Contains(value, "${{") {
			env = append(env, name+"="+value)
		} else if _, ok := os.LookupEnv(name); !ok {
			return fmt.Errorf("the recipe takes %s from %s, which the script does not give", name, value)
		}
	}
	for _, step := range job.steps {
		fmt.Printf("$ %s\n", strings.TrimSpace(step))
		cmd := exec.Command(job.shell[0], append(job.shell[1:], step)...)
		cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = clone, env, os.Stdout, os.Stderr
		if err := cmd.Run(); err != nil {
			return err
		}
	}
	return nil
}

// readJob reads a job of GitHub Actions or GitLab CI, or a stage of Atlantis.
func readJob(file, name string) (*recipeJob, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	job := &recipeJob{}
	switch {
	case strings.HasSuffix(file, "repos.yaml"):
		var all struct {
			Workflows map[string]map[string]struct {
				Steps []struct{ Run string }
			}
		}
		err = yaml.Unmarshal(text, &all)
		job.shell = []string{"sh", "-c"} // as Atlantis does
		for _, s := range all.Workflows["weft"][name].Steps {
			job.steps = append(job.steps, s.Run)
		}
	case strings.HasSuffix(file, ".gitlab-ci.yml"):
		var all map[string]yaml.Node
		var one struct {
			Variables map[string]string
			Script    []string
		}
		if err = yaml.Unmarshal(text, &all); err == nil {
			node := all[name]
			err = node.Decode(&one)
		}
		job.shell, job.env = []string{"bash", "-eo", "pipefail", "-c"}, one.Variables
		job.steps = []string{strings.Join(one.Script, "\n")} // one shell for all, as GitLab does
	default:
		var all struct {
			Jobs map[string]struct {
				Env   map[string]string
				Steps []struct{ Run string }
			}
		}
		err = yaml.Unmarshal(text, &all)
		job.shell, job.env = []string{"bash", "-e", "-c"}, all.Jobs[name].Env // as Actions does where no shell is named
		for _, s := range all.Jobs[name].Steps {
			if s.Run != "" {
				job.steps = append(job.steps, s.Run)
			}
		}
	}
	return job, err
}
