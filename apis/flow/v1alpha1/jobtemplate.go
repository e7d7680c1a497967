package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	batchv1alpha1 "github.com/muster-sh/muster/apis/batch/v1alpha1"
)

// JobTemplate is a job to be made by steps of JobFlows.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=jobtemplates,scope=Namespaced,shortName=jt
type JobTemplate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec batchv1alpha1.JobSpec `json:"spec,omitempty"`
	// +optional
	Status JobTemplateStatus `json:"status,omitempty"`
}

// JobTemplateList is a list of JobTemplates.
//
// +kubebuilder:object:root=true
type JobTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []JobTemplate `json:"items"`
}

// JobTemplateStatus is what is known of a template.
type JobTemplateStatus struct {
	// JobDependsOnList names the jobs made from it.
	// +optional
	JobDependsOnList []string `json:"jobDependsOnList,omitempty"`
}
