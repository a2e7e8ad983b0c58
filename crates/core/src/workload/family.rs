//! What the three families of generators have in common: a description each, a table, and an
//! enumeration of the draws, so that a request costs jumps that are predicted and no call through
//! a pointer.

/// What a generator says about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GeneratorInfo {
    /// What workloads call it.
    pub name: &'static str,
    /// One line for a list.
    pub summary: &'static str,
    /// Its parameters as they are written, such as `rate=60/s`, and what each means.
    pub parameters: &'static [(&'static str, &'static str)],
    /// Where it is used or published.
    pub origin: &'static str,
}

/// Makes, of the members of a family, the enumeration of their descriptions, the table of what
/// they say about themselves, the reader that finds one by its name, and the enumeration of
/// their draws. Its functions are those of the family's trait: what a description tells, how it
/// is made ready, and the draw; each with the arguments of a call in braces, as a macro cannot
/// repeat them for each member. A new member is its file, its `mod` line, its name in the list.
macro_rules! family {
    (
        $(#[$about:meta])*
        $family:ident: $member_trait:ident [$($member:ident),+ $(,)?]
        fn $tell:ident($($heard:ident: $heard_type:ty),*) -> $told:ty { $tell_call:tt }
        fn ready($($met:ident: $met_type:ty),*) -> $draws:ident { $ready_call:tt }
        fn $draw:ident($($name:ident: $type:ty),*) $(-> $drawn:ty)? { $draw_call:tt }
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
            /// The table: what each member says about itself.
            pub const INFOS: &'static [$crate::workload::GeneratorInfo] =
                &[$(<$member as $member_trait>::INFO),+];

            /// Reads the member that `call` names, if there is one.
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

            /// As the member says.
            pub(in crate::workload) fn $tell(&self, $($heard: $heard_type),*) -> $told {
                match self {
                    $(Self::$member(member) => member.$tell $tell_call),+
                }
            }

            /// Makes the member ready to be drawn from.
            pub(in crate::workload) fn ready(&self, $($met: $met_type),*) -> $draws {
                match self {
                    $(Self::$member(member) => $draws::$member(member.ready $ready_call)),+
                }
            }
        }

        /// One of the family, ready to be drawn from.
        #[derive(Clone, Debug)]
        pub(in crate::workload) enum $draws {
            $($member(<$member as $member_trait>::Draw)),+
        }

        impl $draws {
            #[inline]
            pub(in crate::workload) fn $draw(&mut self, $($name: $type),*) $(-> $drawn)? {
                match self {
                    $(Self::$member(draw) => draw.$draw $draw_call),+
                }
            }
        }
    };
}

pub(super) use family;
