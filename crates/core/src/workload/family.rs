//! The common parts of the three families of generators: documentation, a table, and an enumeration
//! of the samplers, so that a request costs predictable branches instead of indirect calls.

/// Documentation of a generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GeneratorInfo {
    /// Its name in workloads.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// Its parameters as they are written, such as `rate=60/s`, and what each means.
    pub parameters: &'static [(&'static str, &'static str)],
    /// Publication that defines it, or its use.
    pub origin: &'static str,
}

/// Generates, from the members of a family, the enumeration of their parameters, the table of their
/// documentation, the parser that finds one by name, and the enumeration of their samplers. The
/// functions are those of the family's trait: a query, `ready`, and the draw; each with its call
/// arguments in braces, because a macro cannot repeat them for each member. Adding a member takes
/// its file, its `mod` line and its name in the list.
macro_rules! family {
    (
        $(#[$about:meta])*
        $family:ident: $member_trait:ident [$($member:ident),+ $(,)?]
        fn $query:ident($($query_arg:ident: $query_type:ty),*) -> $answer:ty { $query_call:tt }
        fn ready($($ready_arg:ident: $ready_type:ty),*) -> $draws:ident { $ready_call:tt }
        fn $draw:ident($($name:ident: $type:ty),*) $(-> $value:ty)? { $draw_call:tt }
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq)]
        pub enum $family {
            $(
                #[doc = concat!("See [`", stringify!($member), "`].")]
                $member($member),
            )+
        }

        impl $family {
            /// The documentation of each member.
            pub const INFOS: &'static [$crate::workload::GeneratorInfo] =
                &[$(<$member as $member_trait>::INFO),+];

            /// Parses the member that `call` names; `None` if there is none.
            pub(in crate::workload) fn read(
                call: &$crate::text::Call<'_>,
                args: &mut $crate::workload::Args<'_>,
            ) -> Option<Result<Self, $crate::text::InputError>> {
                $(
                    if call.name == <$member as $member_trait>::INFO.name {
                        return Some(<$member as $member_trait>::read(args).map(Self::$member));
                    }
                )+
                None
            }

            /// Delegates to the member.
            pub(in crate::workload) fn $query(&self, $($query_arg: $query_type),*) -> $answer {
                match self {
                    $(Self::$member(member) => member.$query $query_call),+
                }
            }

            /// Creates the member's sampler.
            pub(in crate::workload) fn ready(&self, $($ready_arg: $ready_type),*) -> $draws {
                match self {
                    $(Self::$member(member) => $draws::$member(member.ready $ready_call)),+
                }
            }
        }

        /// A sampler of one of the family.
        #[derive(Clone, Debug)]
        pub(in crate::workload) enum $draws {
            $($member(<$member as $member_trait>::Draw)),+
        }

        impl $draws {
            #[inline]
            pub(in crate::workload) fn $draw(&mut self, $($name: $type),*) $(-> $value)? {
                match self {
                    $(Self::$member(draw) => draw.$draw $draw_call),+
                }
            }
        }
    };
}

pub(super) use family;
